"""Products summed by name, lowered to one batched matrix product each."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.linear import Bilinear, Like, Map, like, ops
from namedgrad.primitive import Primitive, check_sizes, operation, sample
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.dims import check, pick
from namedgrad.rules.movement import merge
from namedgrad.rules.structure import add, cast, contract, multiply, relabel, reorder, spread, total
from namedgrad.trace import apply

Path = tuple[tuple[int, ...], ...]


def _summed(arrays: tuple[DimArray, ...], dim: Any) -> Names:
    if dim is Ellipsis:
        return tuple(dict.fromkeys(n for a in arrays for n in a.dims))
    if dim is None:
        seen = Counter(n for a in arrays for n in a.dims)
        return tuple(n for n, k in seen.items() if k > 1)
    several = isinstance(dim, (list, tuple, set, frozenset)) and dim not in [n for a in arrays for n in a.names]
    names = tuple(dict.fromkeys(dim)) if several else (dim,)
    for n in names:
        owners = [a for a in arrays if n in a.names]
        if not owners:
            raise AxisError(f"dot: no operand has a dim {n!r}; their dims are {', '.join(str(a.dims) for a in arrays)}")
        check(next((a for a in owners if n in a.hidden), owners[0]), n, "dot")
    return names


@functools.cache
def _shared(number: int) -> Name:
    """The name under which the dims of one pair meet."""
    return axes.fresh(f"pair {number}")


def _paired(arrays: tuple[DimArray, ...], pairs: Mapping[Name, Name]) -> tuple[tuple[DimArray, ...], Names]:
    """Two operands whose dims to sum have different names, renamed so that they meet."""
    if len(arrays) != 2:
        raise TypeError(f"dot: dim={dict(pairs)} pairs dims of two operands, {len(arrays)} are given; rename them instead")
    x, y = arrays
    left, right = {}, {}
    for i, (m, n) in enumerate(pairs.items()):
        if extent(x, check(x, m, "dot")) != extent(y, check(y, n, "dot")):
            raise AxisError(f"dot: sizes of {m!r} in {describe(x)} and {n!r} in {describe(y)} differ")
        left[m] = right[n] = _shared(i)
    if len(right) < len(left):
        raise AxisError(f"dot: dim={dict(pairs)} names a dim of the second operand twice")
    return (relabel(x, left), relabel(y, right)), tuple(left.values())


@operation(sample("real(a,b)", "real(b,c)"), sample("real(a,b)", "real(b,c)", dim="b"), sample("real(a,b)", "real(b,c)", "real(c,a)", dim=("b", "c")),
           sample("real(a,b)", "real(c)", dim=()), sample("complex(a,b)", "complex(b)", dim="b"), sample("real(a,i)", "real(j,c)", dim={"i": "j"}))
def dot(*arrays: DimArray, dim: Any = None) -> DimArray:
    """Product of arrays by name, summed over ``dim``; any number of operands.

    Parameters
    ----------
    *arrays : DimArray
    dim : name, names, ``...`` or mapping, optional
        Dims to sum; by default every dim that occurs more than once, ``...`` for all. Of two operands also
        ``{dim of the first: dim of the second}``, as ``tensordot`` has it.

    Returns
    -------
    DimArray
        With all other dims of all operands, in order of first appearance.

    Raises
    ------
    AxisError
        If a shared dim has two sizes, or a dim to sum is unknown or vectorized.
    TypeError
        If dims are paired by a mapping and there are not two operands.

    Notes
    -----
    Bilinear: the derivative in one operand is a contraction with the others. Each pair is one batched matrix product;
    more than two operands are paired in the order that opt_einsum finds from their sizes (Smith and Gray, 2018).
    :func:`xarray.dot` by names; ``einsum`` and ``tensordot`` in NumPy and PyTorch. A repeated index of ``einsum`` is
    a diagonal, taken beforehand.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.ones({"i": 2, "j": 3}), ng.ones({"j": 3, "k": 4})
    >>> ng.dot(a, b).sizes, ng.dot(a, b, dim=...).item()
    ({'i': 2, 'k': 4}, 24.0)
    >>> ng.dot(a, ng.ones({"m": 3}), dim={"j": "m"}).data
    array([3., 3.])
    """
    operands = tuple(constant(a) for a in arrays)
    if not operands:
        raise TypeError("dot needs at least one array")
    if isinstance(dim, Mapping):
        operands, over = _paired(operands, dim)
    else:
        over = _summed(operands, dim)
    given = operands
    check_sizes("dot", operands)
    if len(operands) == 1:
        return total(operands[0], over)
    operands = tuple(inexact(operands))
    if len(operands) == 2:
        return contract(*operands, over)
    for group in _path(operands, over):
        rest = tuple(o for i, o in enumerate(operands) if i not in group)
        needed = {n for o in rest for n in o.names}
        product, *more = (operands[i] for i in group)
        while more:
            y = more.pop(0)
            later = needed.union(*(o.names for o in more))
            product = contract(product, y, tuple(n for n in over if n not in later and (n in product.names or n in y.names)))
        operands = (*rest, product)
    return reorder(operands[0], axes.in_order(n for a in given for n in a.names if n not in over))


def inexact(operands: Sequence[DimArray]) -> Sequence[DimArray]:
    """Whole numbers among others in the dtype of the product: summed before, they would be of 64 bits."""
    whole = [o.dtype.kind in "biu" for o in operands]
    if not any(whole) or all(whole):
        return operands
    kind = np.result_type(*(o.dtype for o in operands))
    return tuple(cast(o, kind) if w else o for o, w in zip(operands, whole))


def _path(operands: tuple[DimArray, ...], over: Names) -> Path:
    """Which operands to contract, step by step; a result goes to the end of those that are left."""
    return _cheapest(tuple(o.names for o in operands), tuple(tuple(map(int, o.full_shape)) for o in operands), over)


@functools.lru_cache(1024)
def _cheapest(names: tuple[Names, ...], shapes: tuple[tuple[int, ...], ...], over: Names) -> Path:
    """opt_einsum's path: optimal for a few operands, greedy for many."""
    import opt_einsum

    symbols: dict[Name, str] = {}
    for n in (n for own in names for n in own):
        symbols.setdefault(n, opt_einsum.get_symbol(len(symbols)))
    terms = ",".join("".join(symbols[n] for n in own) for own in names)
    result = "".join(s for n, s in symbols.items() if n not in over)
    path, _ = opt_einsum.contract_path(f"{terms}->{result}", *shapes, shapes=True, optimize="auto")
    return tuple(tuple(group) for group in path)


@operation(sample("real(a,b)", "real(b,c)", dim="b"), sample("real(a,b,c)", "real(a,c)", dim="c"), name="matmul")
def matmul(x: DimArray, y: DimArray, dim: Name) -> DimArray:
    """Matrix product over one shared dim; every other shared dim is a batch.

    Parameters
    ----------
    x, y : DimArray
    dim : name
        The dim to sum.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a shared dim has two sizes, or ``dim`` is unknown or vectorized.

    Notes
    -----
    Bilinear. On positional arrays it is :func:`numpy.matmul`: the last two axes are matrices, one axis is a vector.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[1.0, 2.0], [3.0, 4.0]], ("i", "j"))
    >>> ng.matmul(a, a.rename(i="j", j="k"), "j").data
    array([[ 7., 10.],
           [15., 22.]])
    """
    return dot(x, y, dim=dim)


@operation(sample("real(a)", "real(b)"))
def outer(x: DimArray, y: DimArray) -> DimArray:
    """Outer product of arrays without common dims.

    Parameters
    ----------
    x, y : DimArray

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If the operands share a dim: rename it in one of them.

    Notes
    -----
    Bilinear. :func:`numpy.outer` and ``torch.outer`` flatten their operands, or take vectors only.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.outer(ng.DimArray([1.0, 2.0], ("x",)), ng.DimArray([10.0, 20.0], ("y",))).data
    array([[10., 20.],
           [20., 40.]])
    """
    x, y = constant(x), constant(y)
    common = [n for n in x.dims if n in y.dims]
    if common:
        raise AxisError(f"outer: both operands have the dim {common[0]!r}; rename it in one of them")
    return dot(x, y, dim=())


@operation(sample("real(a,b)", "real(c,b)"), sample("complex(a,b)", "complex(b)", dim="b"))
def inner(x: DimArray, y: DimArray, dim: Any = None) -> DimArray:
    """Sum of products over dims, without conjugation.

    Parameters
    ----------
    x, y : DimArray
    dim : name or names, optional
        Dims to sum; by default those that both have.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a shared dim has two sizes, or a dim is unknown or vectorized.

    Notes
    -----
    Bilinear. :func:`numpy.inner` and ``torch.inner`` sum over the last axes.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.inner(ng.DimArray([1.0, 2.0], ("x",)), ng.DimArray([3.0, 4.0], ("x",))).item()
    11.0
    """
    return dot(x, y, dim=dim)


@operation(sample("real(a,b)", "real(c,b)", dim="b"), sample("complex(a,b)", "complex(b)", dim="b"))
def vecdot(x: DimArray, y: DimArray, dim: Any = None) -> DimArray:
    """Inner product over dims: the sum of ``conj(x) * y``.

    Parameters
    ----------
    x : DimArray
        Conjugated if it is complex.
    y : DimArray
    dim : name or names, optional
        Dims to sum; by default those that both have.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a shared dim has two sizes, or a dim is unknown or vectorized.

    Notes
    -----
    Linear in ``y`` and in ``conj(x)``. :func:`numpy.vecdot`, ``torch.linalg.vecdot``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1j, 2.0], ("x",))
    >>> ng.vecdot(x, x, "x").item()
    (5+0j)
    """
    return dot(conj_if_complex(constant(x)), y, dim=dim)


@operation(sample("real(a,b)", "real(b,a)"), sample("complex(a)", "complex(a)"))
def vdot(x: DimArray, y: DimArray) -> DimArray:
    """Inner product of whole arrays: the sum of ``conj(x) * y`` over all dims.

    Parameters
    ----------
    x : DimArray
        Conjugated if it is complex.
    y : DimArray

    Returns
    -------
    DimArray
        Without dims.

    Raises
    ------
    AxisError
        If a shared dim has two sizes.

    Notes
    -----
    Linear in ``y`` and in ``conj(x)``. :func:`numpy.vdot`, ``torch.vdot``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.vdot(ng.ones({"x": 2, "y": 3}), ng.ones({"y": 3, "x": 2})).item()
    6.0
    """
    return vecdot(x, y, ...)


@operation(sample("real(a,b)", "real(c,a)", "real(c)", dim=("a", "c")), sample("real(a,b)", "real(i,b,c)", "real(a,c)", dim=("b", "c")),
           sample("real(a,b)", "real(i,b,c)", "real(a,c)", "real(i)", dim=("b", "c")))
def bilinear(x1: DimArray, weight: DimArray, x2: DimArray, bias: DimArray | None = None, *, dim: Any = None) -> DimArray:
    """A bilinear form: ``sum_ij x1[i] weight[i, j] x2[j] + bias``, one for every other dim.

    Parameters
    ----------
    x1, weight, x2 : DimArray
    bias : DimArray, optional
    dim : name or names, optional
        Dims to sum; by default those of ``weight`` that ``x1`` or ``x2`` has.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a shared dim has two sizes, or a dim is unknown or vectorized.

    Notes
    -----
    Linear in each operand. ``torch.nn.functional.bilinear(x1, x2, weight, bias)``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, y = ng.DimArray([1.0, 2.0], ("i",)), ng.DimArray([3.0, 4.0], ("j",))
    >>> ng.bilinear(x, ng.eye("i", "j", 2), y).item()
    11.0
    """
    x1, weight, x2 = constant(x1), constant(weight), constant(x2)
    if dim is None:
        dim = tuple(n for n in weight.dims if n in x1.dims or n in x2.dims)
    out = dot(x1, weight, x2, dim=dim)
    return out if bias is None else add(out, constant(bias))


class _Outer(Primitive):
    """A product by name, its first names stored in a given order: those of the first operand, and more of the second's."""

    form = "contract"

    def lower(self, args: Sequence[DimArray], order: Names) -> DimArray:
        x, y = args
        sizes = tuple(extent(x if n in x.names else y, n) for n in order)
        return multiply(spread(x, Like(order, sizes, x.dtype)), y)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], order: Names) -> Map:
        pairs = [(a, b) for a, b, n in zip(ins, reversed(ins), need, strict=True) if n]
        map_ = _Outward([like(a) for a, _ in pairs], [b for _, b in pairs], ())
        map_.out = like(out)
        return map_


class _Outward(Bilinear):
    """The map of an outer product: tangents are stored in its order, too."""

    __slots__ = ("out",)
    out: Like

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        return ops.combined([(spread(t, self.out), o) for t, o in zip(ts, self.others, strict=True) if t is not None])


_OUTER = _Outer("outer")


@operation(sample("real(a,b)", "real(a,b)"), sample("real(a,b)", "real(c)"), sample("complex(a,b)", "complex(b,c)", dim="b"))
def kron(x: DimArray, y: DimArray, dim: Any = None) -> DimArray:
    """Kronecker product over dims: along each, every cell of ``x`` becomes a copy of ``y`` times that cell.

    Parameters
    ----------
    x, y : DimArray
    dim : name or names, optional
        Dims along which sizes multiply; by default those that both have. Others are aligned by name.

    Returns
    -------
    DimArray
        With all dims of both.

    Raises
    ------
    AxisError
        If a dim is missing in one of the operands, or vectorized.

    Notes
    -----
    Bilinear. :func:`numpy.kron`, ``torch.kron``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.kron(ng.DimArray([1.0, 10.0], ("x",)), ng.DimArray([1.0, 2.0, 3.0], ("x",))).data
    array([ 1.,  2.,  3., 10., 20., 30.])
    """
    x, y = constant(x), constant(y)
    dims = tuple(n for n in x.dims if n in y.dims) if dim is None else pick(x, dim, "kron")
    inside = {check(y, n, "kron"): _shared(i) for i, n in enumerate(dims)}
    names = axes.in_order((*x.names, *y.names))
    order = tuple(m for n in x.names for m in ((n, inside[n]) if n in inside else (n,)))  # merging then moves nothing
    out = apply(_OUTER, (x, relabel(y, inside)), order=order)
    for n, m in inside.items():
        out = merge(out, (n, m), n)
    return reorder(out, names)
