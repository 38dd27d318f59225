"""The user's function as a solver calls it: for a batch of cells at once, with or without its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, make
from namedgrad.axes import NONE, AxisError, Name, Names
from namedgrad.fit.cells import CELL, Cells, Index
from namedgrad.fit.parameters import Matrix, Parameters, as_entries, kind_of, lacking, names_of, pairs_of
from namedgrad.linear import Like
from namedgrad.rules.structure import relabel, reorder, spread
from namedgrad.transforms.grad import Output
from namedgrad.transforms.tape import Tape, record

BATCH_ELEMENTS = 1 << 19  # numbers in one batch: small for the cache, large against the cost of a call


class Problem:
    """A function of parameters and data, one problem per cell.

    Attributes
    ----------
    parameters, cells : the layout of both
    start, lower, upper : (row, cell) matrices
    free : (row,) whether a solver may move it
    everywhere : the index of all cells
    kind : the class of array that numbers are shown as
    """

    def __init__(
        self, function: Callable[..., Any], params: Any, data: Sequence[Any], *, over: Any, bounds: Any = None,
        fixed: Iterable[Name] = (), **extra: Any,
    ) -> None:  # fmt: skip
        if backends.is_recording():
            raise TraceError("a fit is steered by values, which ng.compile would freeze; call it outside of that")
        self.function, self.data = function, tuple(data)
        entries = as_entries(params)
        limits = pairs_of(bounds, entries, "bounds", "(lower, upper)")
        self.cells = Cells({"params": entries, "limits": limits, "data": self.data, **extra}, over)
        self.everywhere = np.arange(self.cells.count)
        for name, leaf in entries.items():
            _refuse_shared(name, lacking(leaf, self.cells.names), self.cells.names)
            if name in self.cells.names or name in self.cells.labels:
                raise AxisError(f"the parameter {name!r} is called like a dim or coordinate of the data; rename one")
        self.kind = kind_of((entries, data, extra))
        self.parameters = Parameters(params, entries, self.cells, self.kind)
        self.backend = backends.backend_of(*(x.raw for x in self.cells.arrays() if x.dtype != object))
        self._limit()
        self._hold(names_of(fixed, entries, "fixed"))

    def _limit(self) -> None:
        p, given = self.parameters, self.cells.take(self.everywhere, "params", "limits")
        low, high = ({n: pair[i] for n, pair in given["limits"].items()} for i in (0, 1))
        self.lower, self.upper = p.matrix(low, -np.inf), p.matrix(high, np.inf)
        for name, rows in p.rows.items():
            if not np.all(self.lower[rows] <= self.upper[rows]):
                raise ValueError(f"bounds[{name!r}]: the lower bound is not everywhere at or below the upper one")
        self.start = np.clip(p.matrix(given["params"], np.nan), self.lower, self.upper)

    def _hold(self, fixed: Sequence[Name]) -> None:
        self.free = np.ones(self.parameters.count, dtype=bool)
        for name in fixed:
            self.free[self.parameters.rows[name]] = False
        if not self.free.any():
            raise ValueError(f"fixed={tuple(fixed)}: no parameter is left to fit")

    # ---------------------------------------------------------------- calls

    def full(self, free: Matrix, index: Index) -> Matrix:
        """All rows, given those that are free."""
        if self.free.all():
            return free
        out = self.start[:, index]
        out[self.free] = free
        return out

    def arguments(self, index: Index) -> dict[str, Any]:
        """The data of some cells."""
        return self.cells.take(index, "data")

    def call(self, parts: Sequence[DimArray], args: Any) -> Output:
        """The function's output, taken apart."""
        return Output(self.function(self.parameters.shown(parts), *args["data"]))

    def checked(self, out: Output, args: Any) -> Output:
        """The output in the form that the solver needs, or an error."""
        raise NotImplementedError

    def moving(self, entries: Sequence[Any]) -> list[Any]:
        """Of one value per entry, those of the entries that are free."""
        return [x for x, rows in zip(entries, self.parameters.rows.values(), strict=True) if self.free[rows].all()]

    def record(self, matrix: Matrix, args: Any, moving: Sequence[DimArray] | None = None) -> Tape:
        """One traced call; the inputs of the tape are the entries that are free, or others given in place of them."""
        return self.record_parts(self.parameters.parts(matrix, self.backend), args, moving)

    def record_parts(self, parts: Sequence[DimArray], args: Any, moving: Sequence[DimArray] | None = None) -> Tape:
        """The same, given all entries."""
        at = self.moving(range(len(parts)))

        def function(traced: list[DimArray]) -> Sequence[DimArray]:
            full = dict(enumerate(parts)) | dict(zip(at, traced, strict=True))
            return self.checked(self.call(list(full.values()), args), args).parts

        return record(function, self.moving(parts) if moving is None else moving)

    def one(self) -> DimArray:
        """The number 1 where the data are."""
        return make(backends.call(self.backend.full, (), 1, np.dtype(np.float64)), (), NONE)

    def batch(self, wanted: int | None, per_cell: float) -> int:
        """How many cells to work on at once."""
        return max(1, min(self.cells.count, wanted or int(BATCH_ELEMENTS // max(per_cell, 1))))

    def table(self, x: DimArray, count: int, what: str) -> DimArray:
        """An output with its cells visible and in front: ``(CELL, dims...)``."""
        if x.level is not None:
            raise TraceError(f"the {what} depends on values that are being differentiated outside of the fit")
        if x.backend == "dask":
            raise TypeError(f"the {what} is a lazy dask array; call .compute() on the data before the fit")
        if foreign := [n for n in x.names if n in self.cells.names or (n in x.hidden and n is not CELL)]:
            raise AxisError(
                f"the {what} has the dim {foreign[0]!r} from an array that the function captured, but over="
                f"{self.cells.names}; pass every array that has such a dim as an argument after params"
            )
        x = relabel(x, {}, show=(CELL,)) if CELL in x.hidden else x
        if CELL not in x.names:
            x = spread(x, Like((CELL, *x.names), (count, *x.full_shape), x.dtype))
        return reorder(x, (CELL, *(n for n in x.names if n is not CELL)))


def single(out: Output, what: str) -> None:
    """Raise unless the function returned one real floating-point array."""
    if len(out.parts) != 1 or len(out.tree.leaves) != 1:
        kinds = ", ".join(type(x).__name__ for x in out.tree.leaves)
        raise TypeError(f"the {what} must be one floating-point array, got {len(out.tree.leaves)} leaves: {kinds}")
    if out.parts[0].dtype.kind == "c":
        raise TypeError(f"the {what} is complex; fit its real and imaginary parts, joined along a dim")


def batches(index: Index, size: int) -> list[Index]:
    """Cells in groups."""
    return [index[i : i + size] for i in range(0, len(index), size)]


def _refuse_shared(name: Name, missing: Names, over: Names) -> None:
    if missing:
        raise AxisError(
            f"the start value of {name!r} has some dims of over={over} but lacks {missing}: there is one parameter per "
            "cell, so give it all of these dims (.broadcast_like) or none"
        )


def require_positive(**values: float | None) -> None:
    """Raise for a setting that is not a positive number."""
    for name, value in values.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}")
