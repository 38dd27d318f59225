"""Products summed by name, lowered to one batched matrix product each."""

from __future__ import annotations

from collections import Counter
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant
from namedgrad.axes import AxisError, Name, Names
from namedgrad.primitive import check_sizes, operation, sample
from namedgrad.rules.dims import check
from namedgrad.rules.structure import contract, reorder, total


def _summed(arrays: tuple[DimArray, ...], dim: Any) -> Names:
    if dim is Ellipsis:
        return tuple(dict.fromkeys(n for a in arrays for n in a.dims))
    if dim is None:
        seen = Counter(n for a in arrays for n in a.dims)
        return tuple(n for n, k in seen.items() if k > 1)
    names = tuple(dim) if isinstance(dim, (list, tuple, set)) and dim not in [n for a in arrays for n in a.names] else (dim,)
    for n in names:
        owners = [a for a in arrays if n in a.names]
        if not owners:
            raise AxisError(f"dot: no operand has a dim {n!r}; their dims are {', '.join(str(a.dims) for a in arrays)}")
        check(next((a for a in owners if n in a.hidden), owners[0]), n, "dot")
    return names


@operation(sample("real(a,b)", "real(b,c)"), sample("real(a,b)", "real(b,c)", dim="b"), sample("real(a,b)", "real(b,c)", "real(c,a)", dim=("b", "c")),
           sample("real(a,b)", "real(c)", dim=()), sample("complex(a,b)", "complex(b)", dim="b"))
def dot(*arrays: DimArray, dim: Any = None) -> DimArray:
    """Product of arrays by name, summed over ``dim``; any number of operands.

    Parameters
    ----------
    *arrays : DimArray
    dim : name, names or ``...``, optional
        Dims to sum; by default every dim that occurs more than once, ``...`` for all.

    Returns
    -------
    DimArray
        With all other dims of all operands.

    Raises
    ------
    AxisError
        If a shared dim has two sizes, or a dim to sum is unknown or vectorized.

    Notes
    -----
    Each pair is one batched matrix product; more than two operands are paired in the order that opt_einsum finds.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a, b = ng.ones({"i": 2, "j": 3}), ng.ones({"j": 3, "k": 4})
    >>> ng.dot(a, b).sizes, ng.dot(a, b, dim=...).item()
    ({'i': 2, 'k': 4}, 24.0)
    """
    operands = given = tuple(constant(a) for a in arrays)
    if not given:
        raise TypeError("dot needs at least one array")
    over = _summed(operands, dim)
    check_sizes("dot", operands)
    if len(operands) == 1:
        return total(operands[0], over)
    for a, b in _path(operands, over):
        x, y = operands[a], operands[b]
        rest = tuple(o for i, o in enumerate(operands) if i not in (a, b))
        needed = {n for o in rest for n in o.names}
        now = tuple(n for n in over if n not in needed and (n in x.names or n in y.names))
        operands = (*rest, contract(x, y, now))
    return reorder(operands[0], axes.in_order(n for a in given for n in a.names if n not in over))


def _path(operands: tuple[DimArray, ...], over: Names) -> list[tuple[int, int]]:
    """Pairs to contract, in opt_einsum's order when there are more than two operands."""
    if len(operands) == 2:
        return [(0, 1)]
    import opt_einsum

    symbols: dict[Name, str] = {}
    for o in operands:
        for n in o.names:
            symbols.setdefault(n, opt_einsum.get_symbol(len(symbols)))
    terms = ["".join(symbols[n] for n in o.names) for o in operands]
    result = "".join(s for n, s in symbols.items() if n not in over)
    path, _ = opt_einsum.contract_path(
        f"{','.join(terms)}->{result}", *(o.full_shape for o in operands), shapes=True, optimize="greedy"
    )
    return [pair if len(pair) == 2 else (0, 1) for pair in path]


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
