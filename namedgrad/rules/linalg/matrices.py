"""What the rules of linear algebra share: matrices on the names ``ROW`` and ``COLUMN``.

The rules of this package are written for the gradient dL/dx + i dL/dy, as the papers are; the engine transposes without
conjugating, so :func:`gradients` turns one convention into the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends.failures import CALLED, Bad, MatrixError, bad_matrices, called
from namedgrad.linear import Like, Map, Pair
from namedgrad.primitive import place
from namedgrad.primitive.core import CoreOp
from namedgrad.primitive.linear import Linear
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.dims import check, new_name, twin
from namedgrad.rules.elementwise import c, logical_or
from namedgrad.rules.movement.triangles import cut_triangle, triangle
from namedgrad.rules.structure import (
    add,
    cast,
    contract,
    equal,
    isfinite,
    multiply,
    not_equal,
    positions,
    relabel,
    reorder,
    select,
    spread,
    subtract,
    total,
    where,
)

# Not the names of a signature: the operations that a rule is made of have signatures of their own.
ROW, COLUMN, INNER = axes.core(-12), axes.core(-11), axes.core(-13)
MATRIX = (ROW, COLUMN)


# ------------------------------------------------------------------------------------------------ operations on matrices


class MatrixOp(CoreOp):
    """A core operation on matrices: an error says which of them it is about, and cells that do not count stay away.

    Its kernel takes ``errors="raise"`` or ``"nan"``.
    """

    def __init__(
        self, signature: str, name: str, pullback: Callable[..., Sequence[Any]], pushforward: Callable[..., Any], **options: Any
    ) -> None:
        super().__init__(signature, name, of_live_slices(pullback), pushforward=pushforward, **options)
        self.ins, self.out = tuple(MATRIX[2 - len(core) :] for core in self.ins), MATRIX[2 - len(self.out) :]
        plain = name.removeprefix("full_").removesuffix("_packed")
        self.known_as = {"triangular_solve": "solve_triangular", "svdvals": "svd"}.get(plain, plain)

    def __call__(self, *args: DimArray, dims: tuple[Names, ...] | None = None, out: Names | None = None, **params: Any) -> Any:
        if params.get("errors", "nan") not in {"raise", "nan"}:
            raise ValueError(f"{self.known_as}: errors={params['errors']!r}; choose 'raise' or 'nan'")
        return super().__call__(*args, dims=dims, out=out, **params)

    def lower(self, args: Sequence[DimArray], dims: tuple[Names, ...], out: Names, **params: Any) -> DimArray:
        token = CALLED.set((self.known_as, args[0].names, dims[0]))
        try:
            return super().lower(args, dims=dims, out=out, **params)
        except np.linalg.LinAlgError as error:
            try:
                result = super().lower(args, dims=dims, out=out, **params | {"errors": "nan"})
            except np.linalg.LinAlgError:
                raise error from None
            raise MatrixError(self.known_as, str(error), _those_that_failed(result, args, called()[1])) from None
        finally:
            CALLED.reset(token)


class Plain(MatrixOp):
    """One without a derivative."""

    def __init__(self, signature: str, name: str) -> None:
        super().__init__(signature, name, lambda *_, **__: (), lambda *_, **__: None)

    def linear(self, *args: Any, **kwargs: Any) -> None:
        return None


def _those_that_failed(result: DimArray, args: Sequence[DimArray], batch: Names) -> Bad | None:
    """The matrices of which the result is NaN: those that are finite themselves, unless there are none."""
    if not batch:
        return None
    bad = _over(batch, result, np.isnan, np.any)
    fine = functools.reduce(np.logical_and, (_over(batch, x, np.isfinite, np.all) for x in args), bad)
    return bad_matrices(fine if fine.any() else bad, np.arange(bad.size).reshape(bad.shape), batch, bad.shape)


def _over(batch: Names, x: DimArray, test: Any, reduce: Any) -> Any:
    """A test of cells reduced to the axes of the batch, in its order, on the host; size 1 where the array lacks one."""
    kept = tuple(n for n in x.names if n in batch)
    flags = reduce(test(x.raw), axis=tuple(i for i, n in enumerate(x.names) if n not in batch))
    flags = backends.backend_of(flags).to_numpy(flags)
    flags = place(flags, axes.Move(axes.order_plan(kept, tuple(n for n in batch if n in kept)), None))
    return flags.reshape([x.full_shape[x.names.index(n)] if n in kept else 1 for n in batch])


def of_live_slices(pullback: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """A slice whose cotangent is exactly 0 gets exactly 0, whatever it holds (under guarded products)."""

    def pull(g: DimArray, out: DimArray, *xs: DimArray, **params: Any) -> Sequence[Any]:
        parts = pullback(g, out, *xs, **params)
        if not getattr(g.hidden, "guard", False):
            return parts
        alive = live(g)
        return [_selected(alive, p) for p in parts]

    return pull


def live(g: DimArray) -> DimArray:
    """The slices in which a cell is not exactly 0."""
    inner = tuple(n for n in g.names if isinstance(n, axes.Core))
    return not_equal(total(cast(not_equal(g, c(0)), np.float32), inner), c(0))


def _selected(live: DimArray, x: Any) -> Any:
    """What is finite has its own derivatives also where it is 0."""
    if type(x) is Pair:
        return Pair(_selected(live, x.g), x.factor)
    if x is None or x.level is None:
        return None if x is None else select(live, x)
    return select(logical_or(live, isfinite(x)), x)


def gradients(rule: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """A rule for gradients as a pullback."""

    def pullback(g: DimArray, out: DimArray, *xs: DimArray, **params: Any) -> Sequence[Any]:
        return [conj_if_complex(p) for p in rule(conj_if_complex(g), out, *xs, **params)]

    return pullback


# ------------------------------------------------------------------------------------------------ matrices by name


def mT(x: DimArray) -> DimArray:
    """Transposed matrices."""
    return relabel(x, {ROW: COLUMN, COLUMN: ROW})


def mH(x: DimArray) -> DimArray:
    """Conjugate-transposed matrices."""
    return conj_if_complex(mT(x))


def mm(x: DimArray, *more: DimArray) -> DimArray:
    """Matrix product, from the left."""
    for y in more:
        x = contract(relabel(x, {COLUMN: INNER}), relabel(y, {ROW: INNER}), (INNER,))
    return x


def hermitian_part(x: DimArray) -> DimArray:
    """The Hermitian part."""
    return multiply(c(0.5), add(x, mH(x)))


def skew(x: DimArray) -> DimArray:
    """``x - x^H``."""
    return subtract(x, mH(x))


def down(x: DimArray) -> DimArray:
    """A vector along the columns, along the rows."""
    return relabel(x, {COLUMN: ROW})


def as_row(x: DimArray) -> DimArray:
    """A vector along the columns as a matrix of one row."""
    return spread(x, Like((ROW, *x.names), (1, *x.full_shape), x.dtype))


def typed(x: DimArray, like: DimArray) -> DimArray:
    """``x`` with the dtype of ``like``."""
    return x if x.dtype == like.dtype else cast(x, like.dtype)


def on_diagonal(x: DimArray) -> DimArray:
    """Which cells of a square matrix are on the diagonal."""
    n = extent(x, COLUMN)
    return equal(positions(n, ROW, x), positions(n, COLUMN, x))


def with_diagonal(x: DimArray, values: DimArray) -> DimArray:
    """``x`` with values along its diagonal, and laid out as it is: added, they came with a layout of their own."""
    out = where(on_diagonal(x), typed(values, x), x)
    return reorder(out, axes.in_order((*x.names, *out.names)))


def without_diagonal(x: DimArray) -> DimArray:
    """A square matrix with 0 on its diagonal."""
    n = extent(x, COLUMN)
    return reorder(select(not_equal(positions(n, ROW, x), positions(n, COLUMN, x)), x), x.names)


def diagonal(x: DimArray) -> DimArray:
    """The diagonal of a square matrix, along the columns."""
    return total(select(on_diagonal(x), x), (ROW,))


def lower_part(x: DimArray, strictly: bool = False) -> DimArray:
    """The lower triangle, with or without the diagonal."""
    return triangle(x, MATRIX, lower=True, k=-strictly)


def upper_part(x: DimArray, strictly: bool = False) -> DimArray:
    """The upper triangle, with or without the diagonal."""
    return triangle(x, MATRIX, lower=False, k=int(strictly))


class _Read(Linear):
    """The triangle that is read: the matrices stay as they are, only their tangents and cotangents are cut."""

    def lower(self, args: Sequence[DimArray], *_: Any, **__: Any) -> DimArray:
        return args[0]

    def linear(self, *args: Any, **which: Any) -> Map:
        return triangle.linear(*args, **which)


_read = _Read("(m,n)->(m,n)", "read", transpose=cut_triangle, many=True)


def read_triangle(x: DimArray, *, lower: bool, strictly: bool) -> DimArray:
    """``x``, of which whatever comes next reads one triangle only."""
    return _read(x, dims=MATRIX, lower=lower, k=strictly * (-1 if lower else 1))


def lower_half(x: DimArray) -> DimArray:
    """The lower triangle with the diagonal halved."""
    weights = where(on_diagonal(x), c(0.5), c(1.0))
    return multiply(lower_part(x), cast(weights, x.dtype.type(0).real.dtype))


# ------------------------------------------------------------------------------------------------ arguments


def matrix_dims(a: DimArray, dims: tuple[Name, Name], what: str, *, square: bool = True) -> tuple[Name, Name]:
    """The two dims of a matrix, checked."""
    if not isinstance(dims, (tuple, list)) or len(dims) != 2 or dims[0] == dims[1]:
        raise AxisError(f"{what}: dims must be two different names, (row, column); got {dims!r}")
    row, col = dims
    check(a, row, what)
    check(a, col, what)
    if square and extent(a, row) != extent(a, col):
        raise AxisError(f"{what}: needs a square matrix, got {row!r}: {extent(a, row)} and {col!r}: {extent(a, col)}")
    return row, col


def inexact(a: DimArray) -> DimArray:
    """Integers and booleans as float64, as NumPy takes them; all in the byte order that SciPy takes."""
    if a.dtype.kind not in "fc":
        return cast(a, np.float64)
    return a if a.dtype.isnative else cast(a, a.dtype.newbyteorder("="))


def inner_name(a: DimArray, col: Name, given: Name | None, what: str) -> Name:
    """The name of the dim between two factors: the column's with a 2 appended, unless given."""
    return new_name(a, twin(col) if given is None else given, what)


def in_place_of(a: DimArray, out: DimArray, names: dict[Name, Name]) -> DimArray:
    """``out`` with its dims where ``a`` has them, or those that they are made from."""
    order = [names.get(n, n) for n in a.names]
    return reorder(out, tuple(n for n in order if n in out.names))


def in_order_of(out: DimArray, *operands: DimArray) -> DimArray:
    """``out`` with its dims in order of their first appearance among the operands, new ones last."""
    seen = dict.fromkeys([*(n for x in operands for n in x.names), *out.names])
    return reorder(out, tuple(n for n in seen if n in out.names))
