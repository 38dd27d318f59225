"""The user's function as a solver calls it: for a batch of cells at once, with or without its derivatives."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad import backends
from namedgrad.array import DimArray, TraceError, make
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.fit.cells import CELL, Cells, Index
from namedgrad.fit.given import Captured
from namedgrad.fit.labels import places
from namedgrad.fit.parameters import Matrix, Parameters, as_entries, kind_of, names_of
from namedgrad.fit.places import on_device_of
from namedgrad.linear import Like
from namedgrad.rules.movement import slice_of
from namedgrad.rules.structure import relabel, reorder, spread
from namedgrad.transforms.grad import Output
from namedgrad.transforms.tape import Tape, ones_like_output, record

# Numbers in one batch: small for the cache, large against the cost of a call. On a device calls cost more: a million
# fits of 25 points take 17.7 s on an H200 instead of 20.7 with 65,536 cells at a time.
BATCH_ELEMENTS, DEVICE_ELEMENTS = 1 << 19, 1 << 24
TOLERANCE = 1e-8
NO_DIMS = "dimensions () must have the same length"  # xarray's words for a plain array that meets one without dims
BARE = (
    "The parameters of a fit are DataArrays here, those that are one number have no dims, and plain arrays, such as "
    "np.where and np.select give of DataArrays, cannot meet them: use xr.where(condition, x, y)"
)
STEERED = "a fit is steered by values, which ng.compile would freeze; call it outside of that"

Named = Callable[[Sequence[Any]], tuple[list[list[DimArray]], Any]]  # entries of each matrix, and arguments


class Problem:
    """A function of parameters and data, one problem per cell.

    Attributes
    ----------
    parameters, cells : the layout of both
    start, lower, upper : (row, cell) matrices
    free : (row,) whether a solver may move it
    everywhere : the index of all cells
    kind : the class of array that numbers are shown as
    size : cells in one batch
    """

    def __init__(
        self, function: Callable[..., Any], params: Any, data: Sequence[Any], *, over: Any,
        bounds: Mapping[Name, Any] | None = None, fixed: Iterable[Name] = (), shared: Iterable[Name] = (),
        **extra: Any,
    ) -> None:  # fmt: skip
        if backends.is_recording():
            raise TraceError(STEERED)
        self.function, self.data = function, tuple(data)
        self.size = 1
        entries = as_entries(params)
        self.cells = Cells({"params": entries, "limits": bounds or {}, "data": self.data, **extra}, over)
        self.everywhere = np.arange(self.cells.count)
        for name in entries:
            if name in self.cells.names or name in self.cells.labels:
                raise AxisError(f"the parameter {name!r} is called like a dim or coordinate of the data; rename one")
        self.kind = kind_of((entries, data, extra))
        self.parameters = Parameters(params, entries, self.cells, self.kind, names_of(shared, entries, "shared"))
        known = [x.raw for x in self.cells.parts("data", *extra) if x.dtype != object]
        self.backend = backends.backend_of(*(known or (x.raw for x in self.cells.parts("params", "limits"))))
        self._limit()
        self._hold(names_of(fixed, entries, "fixed"))

    @property
    def is_coupled(self) -> bool:
        """Whether cells share parameters that are free."""
        return bool(self.shared_rows())

    def shared_rows(self) -> list[int]:
        """The rows of these."""
        p = self.parameters
        return [i for n, rows in p.rows.items() if p.lacks[n] for i in range(rows.start, rows.stop) if self.free[i]]

    def _limit(self) -> None:
        p, given = self.parameters, self.cells.take(self.everywhere, "params", "limits")
        low, high = ({n: pair[i] for n, pair in given["limits"].items()} for i in (0, 1))
        self.lower, self.upper = p.matrix(low, -np.inf), p.matrix(high, np.inf)
        for name, rows in p.rows.items():
            self._require_order(name, self.lower[rows], self.upper[rows])
        self.start = np.clip(p.matrix(given["params"], np.nan), self.lower, self.upper)  # NaN where a bound is

    def _require_order(self, name: Name, low: Matrix, high: Matrix) -> None:
        cell, row = np.nonzero((low > high).T)
        if not cell.size:
            return
        sizes, wrong, first = self.cells.sizes, np.unique(cell), (row[0], cell[0])
        where = xr.DataArray(np.zeros(tuple(sizes.values())), self.cells.coords, tuple(sizes))
        at = f" in {len(wrong)} of {self.cells.count} cells ({places(where, wrong)})" if sizes else ""
        raise ValueError(
            f"bounds[{name!r}] are (lower, upper), but the lower bound is above the upper one{at}: "
            f"{low[first]:g} > {high[first]:g}"
        )

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
        out = on_device_of(self.start[:, index], free)
        out[on_device_of(np.flatnonzero(self.free), free)] = free
        return out

    def arguments(self, index: Index) -> dict[str, Any]:
        """The data of some cells, and what else goes with them."""
        raws, fill = self.gathered(index)
        return fill(raws)

    def gathered(self, index: Index) -> tuple[list[Any], Callable[[Sequence[Any]], dict[str, Any]]]:
        """The same as plain arrays, and what makes arguments of these or others like them."""
        return self.cells.gathered(index, "data")

    def inputs(self, matrices: Sequence[Matrix], index: Index) -> tuple[list[Any], Named]:
        """What a program for some cells is given: plain arrays; and what makes entries and arguments of these again."""
        p, (raws, fill) = self.parameters, self.gathered(index)

        def named(raws: Sequence[Any]) -> tuple[list[list[DimArray]], Any]:
            like, rest = p.parts(matrices[0], self.backend), iter(raws)
            several = [[make(next(rest), x.names, x.hidden) for x in like] for _ in matrices]
            return several, fill([*rest])

        return [x for m in matrices for x in p.raws(m, self.backend)] + raws, named

    def call(self, parts: Sequence[DimArray], args: Any) -> Output:
        """The function's output, taken apart."""
        try:
            return Output(self.function(self.parameters.shown(parts), *args["data"]))
        except ValueError as error:
            if self.kind is xr.DataArray and NO_DIMS in str(error):
                error.add_note(BARE)
            raise

    def checked(self, out: Output, args: Any) -> Output:
        """The output in the form that the solver needs, or an error."""
        raise NotImplementedError

    def moving(self, entries: Sequence[Any]) -> list[Any]:
        """Of one value per entry, those of the entries that are free."""
        return [x for x, rows in zip(entries, self.parameters.rows.values(), strict=True) if self.free[rows].all()]

    def recorded(
        self, function: Callable[[list[DimArray]], Sequence[DimArray]], parts: Sequence[DimArray],
        moving: Sequence[DimArray] | None = None,
    ) -> Tape:  # fmt: skip
        """A function of all entries, recorded from those that are free, or from others given in place of them."""
        at = self.moving(range(len(parts)))

        def of_moving(traced: list[DimArray]) -> Sequence[DimArray]:
            full = dict(enumerate(parts)) | dict(zip(at, traced, strict=True))
            return function([*full.values()])

        return record(of_moving, self.moving(parts) if moving is None else moving)

    def record(self, parts: Sequence[DimArray], args: Any) -> Tape:
        """One call, given all entries."""
        return self.recorded(lambda full: self.checked(self.call(full, args), args).parts, parts)

    # ---------------------------------------------------------------- what is minimised

    def objective(self, parts: Sequence[DimArray], args: Any, seen: DimArray | None) -> DimArray:
        """The cost per cell, given all entries and arguments, and which residuals count."""
        raise NotImplementedError

    def seen(self, index: Index) -> DimArray | None:  # noqa: ARG002 - problems with residuals tell
        """Which residuals of some cells count; None if all do."""
        return None

    def slope(
        self, parts: Sequence[DimArray], args: Any, seen: DimArray | None = None,
        moving: Sequence[DimArray] | None = None,
    ) -> Tape:  # fmt: skip
        """The cost, recorded as :meth:`recorded` does."""
        return self.recorded(lambda full: [self.objective(full, args, seen)], parts, moving)

    def curvature(self, parts: Sequence[DimArray], args: Any, seen: DimArray | None = None) -> Tape:
        """The gradient of the cost, recorded likewise: what is pushed through it is a product with the Hessian."""
        return record(lambda moving: gradients(self.slope(parts, args, seen, moving)), self.moving(parts))

    def _at(self, matrix: Matrix, index: Index) -> tuple[list[DimArray], Any, DimArray | None]:
        """Entries and arguments of some cells, and which of their residuals count."""
        seen = self.seen(index)
        if seen is not None:
            seen = relabel(seen, {}, hide=(CELL,)) if self.cells.names else slice_of(seen, CELL, 0)
        return self.parameters.parts(matrix, self.backend), self.arguments(index), seen

    def gradient(self, matrix: Matrix) -> Matrix:
        """The derivative of the cost in all rows of all cells; 0 for those that are fixed."""
        out = np.zeros(matrix.shape)
        for index in batches(self.everywhere, self.size):
            found = gradients(self.slope(*self._at(matrix[:, index], index)))
            out[np.ix_(self.free, index)] = self.rows(found, len(index))
        return out

    def hessian(self, matrix: Matrix, index: Index) -> Matrix:
        """The Hessian of some cells as (row, row, cell), of the free rows: forward over reverse."""
        tape, out = self.curvature(*self._at(matrix, index)), []
        for row in np.flatnonzero(self.free):
            unit = np.zeros_like(matrix)
            unit[row] = 1.0
            out.append(self.rows(tape.push(self.moving(self.parameters.parts(unit, self.backend))), len(index)))
        return np.stack(out)

    def rows(self, gradients: Sequence[DimArray], count: int) -> Matrix:
        """Gradients of the free entries as a matrix."""
        owns = self.moving(list(self.parameters.own.values()))
        rows = []
        for g, own in zip(gradients, owns, strict=True):
            x = reorder(self.table(g, count, "gradient"), (*own.names, CELL))
            rows.append(x.to_numpy().reshape(math.prod(own.full_shape), count))
        return np.concatenate(rows)

    def one(self) -> DimArray:
        """The number 1 where the data are."""
        return make(backends.call(self.backend.full, (), 1, np.dtype(np.float64)), (), NONE)

    def batch(self, wanted: int | None, per_cell: float) -> int:
        """How many cells to work on at once."""
        most = BATCH_ELEMENTS
        if not self.backend.may_branch:
            most, per_cell = DEVICE_ELEMENTS, max(per_cell, int(self.free.sum()) ** 2)  # the matrices are there, too
        return max(1, min(self.cells.count, wanted or int(most // max(per_cell, 1))))

    def table(self, x: DimArray, count: int, what: str) -> DimArray:
        """An output with its cells visible and in front: ``(CELL, dims...)``."""
        if x.level is not None:
            raise Captured(x.level)
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


def gradients(tape: Tape) -> list[DimArray]:
    """Those of the only output of a tape."""
    return tape.pull([ones_like_output(tape.outs[0])])


def single(out: Output, what: str) -> None:
    """Raise unless the function returned one real floating-point array."""
    if len(out.parts) != 1 or len(out.tree.leaves) != 1:
        kinds = [f"{type(x).__name__}{f' of {x.dtype}' if hasattr(x, 'dtype') else ''}" for x in out.tree.leaves]
        raise TypeError(f"the {what} must be one floating-point array, got {', '.join(kinds) or 'nothing'}")
    if out.parts[0].dtype.kind == "c":
        raise TypeError(f"the {what} is complex; return {{'real': r.real, 'imag': r.imag}}, or both joined along a dim")


def batches(index: Index, size: int) -> list[Index]:
    """Cells in groups."""
    return [index[i : i + size] for i in range(0, len(index), max(size, 1))]


def require_positive(**values: float | None) -> None:
    """Raise for a setting that is not a positive number."""
    for name, value in values.items():
        if value is not None and not isinstance(value, numbers.Real):
            raise TypeError(f"{name} must be a number, the same for all cells, got {type(value).__name__}")
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}")


def require_free(taken: Iterable[Name], own: Sequence[str], what: str) -> None:
    """Raise if dims of the cells are called like those that a result adds."""
    if both := [d for d in own if d in taken]:
        raise AxisError(f"{what} has a dim {both[0]!r} of its own, and so has over=: rename that of the data")
