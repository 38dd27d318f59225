"""The registry of operations, and what all forms of declaration share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from namedgrad import axes, backends, later
from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.backends import call
from namedgrad.linear import Map
from namedgrad.marks import agreeing, mismatch
from namedgrad.trace import apply


class Sample(NamedTuple):
    """One call that the tests make: operands such as ``"positive(a,b)"`` (a domain and dims), and keyword arguments."""

    operands: tuple[str, ...]
    kwargs: dict[str, Any]


def sample(*operands: str, **kwargs: Any) -> Sample:
    """A sample call of an operation."""
    return Sample(operands, kwargs)


class Operation(NamedTuple):
    """A public function on DimArrays, from which its other faces are generated."""

    name: str
    function: Callable[..., Any]
    family: str
    samples: tuple[Sample, ...]
    method: bool
    differentiable: bool


OPERATIONS: later.Later[Operation] = later.Later("namedgrad.rules.later")


def operation(
    *samples: Sample, method: bool = False, differentiable: bool = True, name: str | None = None, family: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Publish a function of DimArrays: as ``ng.<name>``, as a method if asked, in the test table and the docs.

    The ``family`` is the module or package of the rules where it stands, unless it is given.
    """

    def publish(function: Callable[..., Any]) -> Callable[..., Any]:
        key, group = name or function.__name__, family or function.__module__.split(".")[2]
        OPERATIONS[key] = Operation(key, agreeing(function), group, samples, method, differentiable)
        return function

    return publish


class Primitive:
    """One operation: how it computes and what its derivative is."""

    form = ""
    signature = "()"
    moves = -1  #: of how many of its operands it moves cells, which stay what they are; -1: it does not; 0: elementwise
    keeps = "operands"  #: what maps hold: "constants" among them, the "others" of each, also the "result", or "factors"

    def __init__(self, name: str, kernel: str | None = None) -> None:
        self.name, self.kernel = name, kernel or name
        self.kernels: dict[Any, Callable[..., Any]] = {}

    def kernel_for(self, *raw: Any) -> Callable[..., Any]:
        """The backend's function for these raw arrays."""
        found = backends.backend_of(*raw).function(self.kernel)
        if len(raw) == 1 and backends.backend_of_type(type(raw[0])) is backends.NUMPY:
            self.kernels[type(raw[0])] = found
        return found

    def __call__(self, *args: DimArray, **params: Any) -> Any:
        return apply(self, args, **params)

    def lower(self, args: Sequence[DimArray], **params: Any) -> Any:
        """Compute on untraced arrays."""
        raise NotImplementedError

    def linear(self, out: Any, ins: list[DimArray], need: list[bool], **params: Any) -> Map | None:
        """The derivative at ``ins``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.form} {self.name} {self.signature}>"


def check_sizes(name: str, args: Sequence[Any]) -> dict[Name, int]:
    """All sizes by name; a mismatch is refused."""
    sizes: dict[Name, int] = {}
    for a in args:
        for n, s in zip(a.names, a.full_shape, strict=True):
            if sizes.setdefault(n, s) != s:
                raise mismatch(name, args)
    return sizes


def place(raw: Any, move: axes.Move) -> Any:
    """Bring one operand into position."""
    if move.perm is not None:
        raw = call(backends.backend_of(raw).transpose, raw, move.perm)
    if move.insert is not None:
        raw = call(backends.backend_of(raw).getitem, raw, move.insert)
    return raw
