"""What is said of matrices that cannot be done: which operation, why, and where they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from namedgrad.axes import Name, Names, in_order

SHOWN = 3
#: the operation whose kernel is called, the names of its first operand and the core dims among them
CALLED: ContextVar[tuple[str, Names, Names]] = ContextVar("called", default=("", (), ()))


def called() -> tuple[str, Names]:
    """The operation whose kernel is called, and the names of the batch: what a lazy backend must remember."""
    what, names, core = CALLED.get()
    return what, in_order(n for n in names if n not in core)


class Bad(NamedTuple):
    """The matrices: positions of the first of them by the names of the batch, how many there are, and of how many."""

    places: tuple[dict[Name, int], ...]
    number: int
    batch: str


class NoKernelError(TypeError, AttributeError):
    """A function that the cupy backend lacks."""

    def __init__(self, kernel: str) -> None:
        super().__init__(f"the cupy backend has no kernel {kernel}; use .to('numpy') to compute it on the host")


class MatrixError(np.linalg.LinAlgError):
    """An error that knows which matrices it is about; to its reader NumPy's own."""

    __module__, __qualname__ = "numpy.linalg", "LinAlgError"

    def __init__(
        self, what: str, reason: str, bad: Bad | None, *, option: bool = True, labels: Mapping[Name, Any] | None = None
    ) -> None:
        super().__init__(what, reason, bad)
        self.what, self.reason, self.bad, self.option, self.labels = what, reason, bad, option, dict(labels or {})

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}{self._where()}{self._way_out()}"

    def __reduce__(self) -> Any:
        return _again, (self.what, self.reason, self.bad, self.option, self.labels)

    def _where(self) -> str:
        if self.bad is None:
            return ""
        first = "; ".join(", ".join(self._place(n, i) for n, i in place.items()) for place in self.bad.places)
        more = f" and {self.bad.number - SHOWN} more" if self.bad.number > SHOWN else ""
        return f", at {first}{more} of {self.bad.batch}"

    def _place(self, name: Name, i: int) -> str:
        if name not in self.labels:
            return f"{name}={i}"
        value = self.labels[name][i]
        shown = value if isinstance(value, (np.datetime64, np.timedelta64)) else repr(np.asarray(value).item())
        return f"{name}={shown} ({i})"

    def _way_out(self) -> str:
        known = self.option and self.bad is not None
        return f"; ng.{self.what}(..., errors='nan') gives NaN there and goes on" if known else ""

    def of(self, what: str, *, option: bool) -> MatrixError:
        """The same, said by another operation."""
        return MatrixError(what, self.reason, self.bad, option=option, labels=self.labels)

    def labelled(self, labels: Mapping[Name, Any]) -> MatrixError:
        """The same with the coordinates of the batch."""
        return MatrixError(self.what, self.reason, self.bad, option=self.option, labels=labels)


def _again(what: str, reason: str, bad: Bad | None, option: bool, labels: Mapping[Name, Any]) -> MatrixError:
    return MatrixError(what, reason, bad, option=option, labels=labels)


@contextlib.contextmanager
def said_by(what: str, *, option: bool = False) -> Iterator[None]:
    """Errors inside are those of the operation ``what``, which has the argument ``errors`` or not."""
    try:
        yield
    except MatrixError as error:
        raise error.of(what, option=option) from None


def bad_matrices(flags: Any, at: Any, names: Names, shape: Sequence[int]) -> Bad:
    """The matrices that are flagged, at these positions among all of a batch of this shape."""
    found = np.unique(np.asarray(at)[flags])
    places = zip(*(x.tolist() for x in np.unravel_index(found[:SHOWN], shape)), strict=True)
    sizes = ", ".join(f"{n}: {s}" for n, s in zip(names, shape, strict=True))
    return Bad(tuple(dict(zip(names, place, strict=True)) for place in places), len(found), f"({sizes})")
