"""Products summed over axes: matmul, dot, tensordot, einsum and their kin, each one contraction by name."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.positional.array import PositionalArray, numbers, ordered
from namedgrad.positional.axis import at_least, cast_as, expand, flat, named, numbered_of, reshape
from namedgrad.positional.broadcasting import meet, pair
from namedgrad.positional.functions.shapes import diagonal_of
from namedgrad.positional.operands import arrayed, numbered
from namedgrad.positional.protocol import implements
from namedgrad.positional.ufuncs import UFUNCS
from namedgrad.positional.views import view
from namedgrad.rules import contraction
from namedgrad.rules.complex import conj_if_complex
from namedgrad.rules.contraction.framed import product
from namedgrad.rules.reductions import sum as total
from namedgrad.rules.structure import cast, multiply, relabel

M, K, N = (axes.fresh(name) for name in ("rows", "inner", "columns"))


def _check(what: str, x: DimArray, y: DimArray, i: Name, j: Name) -> None:
    if extent(x, i) != extent(y, j):
        raise ValueError(f"{what}: shapes {x.shape} and {y.shape} not aligned: {extent(x, i)} != {extent(y, j)}")


def _check_core(left: int, right: int) -> None:
    if left != right:
        raise ValueError(f"matmul: Input operands have a mismatch in a core dimension: {left} and {right}")


# ------------------------------------------------------------------------------------------------ matrices


def _multiplied(x: DimArray, y: DimArray, left: Sequence[Name], right: Sequence[Name], out: Sequence[Name]) -> DimArray:
    """Trailing axes under the names ``left`` and ``right``, the rest broadcast; summed over ``K``."""
    for n in {*left} & {*right}:
        _check_core(extent(x, n), extent(y, n))
    x, y = pair(x, y)
    summed = contraction.dot(x, y, dim=(K,))
    return ordered(summed, (*numbered_of(summed.dims), *out))


def matmul(x: DimArray, y: DimArray) -> DimArray:
    """NumPy's matrix product: the last two axes are matrices, one axis is a vector, the rest broadcasts."""
    if not x.ndim or not y.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    if x.ndim < 3 and y.ndim < 3:
        _check_core(extent(x, x.dims[-1]), extent(y, y.dims[0]))
        return _summed(x, y, (x.ndim - 1,), (0,))
    left = (K,) if x.ndim == 1 else (M, K)
    right = (K,) if y.ndim == 1 else (K, N)
    return _multiplied(_shifted(x, left), _shifted(y, right), left, right, (*left[:-1], *right[1:]))


def _shifted(x: DimArray, core: Sequence[Name]) -> DimArray:
    """Batch axes numbered as if there were two core axes, so that those of a vector and a matrix meet."""
    return named(x, (*(axes.axis(i - 2) for i in range(len(core) - x.ndim, 0)), *core))


def _fixed(left: Sequence[Name], right: Sequence[Name], *, conjugate: bool = False) -> Any:
    def function(x: DimArray, y: DimArray) -> DimArray:
        x = conj_if_complex(x) if conjugate else x
        return _multiplied(_shifted(x, left), _shifted(y, right), left, right, (*left[:-1], *right[1:]))

    return function


UFUNCS[np.matmul] = matmul
UFUNCS[np.vecdot] = _fixed((K,), (K,), conjugate=True)
if hasattr(np, "matvec"):  # NumPy 2.2
    UFUNCS[np.matvec] = _fixed((M, K), (K,))
    UFUNCS[np.vecmat] = _fixed((K,), (K, N), conjugate=True)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> DimArray:
    return matmul(numbered(x1), numbered(x2))


@implements(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> DimArray:
    x, y = (_last(numbered(v), axis) for v in (x1, x2))
    return UFUNCS[np.vecdot](x, y)


def _last(x: DimArray, axis: int) -> DimArray:
    name = x.dims[normalize_axis_index(axis, x.ndim)]
    return ordered(x, (*(n for n in x.dims if n is not name), name))


# ------------------------------------------------------------------------------------------------ sums of products


@implements(np.dot, method=True)
def dot(a: Any, b: Any, out: Any = None) -> DimArray:
    x, y = arrayed(a), arrayed(b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    at = max(y.ndim - 2, 0)
    _check("dot", x, y, x.dims[-1], y.dims[at])
    return _summed(x, y, (x.ndim - 1,), (at,))


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> DimArray:
    x, y = arrayed(a), arrayed(b)
    if isinstance(axes, (int, np.integer)):
        left, right = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        left, right = (list(s) if np.iterable(s) else [s] for s in axes)
    if len(left) != len(right):
        raise ValueError("shape-mismatch for sum")
    left = [normalize_axis_index(i, x.ndim) for i in left]
    right = [normalize_axis_index(i, y.ndim) for i in right]
    for i, j in zip(left, right):
        _check("tensordot", x, y, x.dims[i], y.dims[j])
    return _summed(x, y, left, right)


def _summed(x: DimArray, y: DimArray, left: Sequence[int], right: Sequence[int]) -> DimArray:
    return product(x, y, *_labels(x.ndim, y.ndim, tuple(left), tuple(right)))


@functools.cache
def _labels(m: int, n: int, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[Any, ...]:
    """Labels of the axes of two operands and of the result, where these are summed in pairs; names of the result."""
    mine = tuple(range(m))
    yours = tuple(left[right.index(i)] if i in right else m + i for i in range(n))
    out = tuple(i for i in (*mine, *yours) if i not in left)
    return mine, yours, out, numbers(len(out))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> DimArray:
    x, y = arrayed(a), arrayed(b)
    return multiply(x, y) if not x.ndim or not y.ndim else tensordot(x, y, ((-1,), (-1,)))


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> DimArray:
    return tensordot(flat(numbered(a)), flat(numbered(b)), 0)


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> DimArray:
    for x in (x1, x2):
        if numbered(x).ndim != 1:
            raise ValueError("Input arrays must be one-dimensional")
    return outer(x1, x2)


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> DimArray:
    return tensordot(conj_if_complex(flat(numbered(a))), flat(numbered(b)), 1)


@implements(np.kron)
def kron(a: Any, b: Any) -> DimArray:
    x, y = numbered(a), numbered(b)
    count = max(x.ndim, y.ndim)
    x, y = (at_least(v, count) for v in (x, y))
    shape = tuple(i * j for i, j in zip(x.shape, y.shape))
    wide = expand(x, range(1, 2 * count, 2)), expand(y, range(0, 2 * count, 2))
    return reshape(multiply(*meet(*wide)), shape)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> DimArray:
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    return functools.reduce(dot, arrays)


# ------------------------------------------------------------------------------------------------ einsum


@implements(np.einsum)
def einsum(
    *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, order: str = "K", casting: str = "safe"
) -> DimArray:
    terms, result, arrays = parse(*operands)
    arrays = arrays if dtype is None else [cast_as(x, np.dtype(dtype), casting, "einsum") for x in arrays]
    if _is_pair(terms, result, arrays):
        x, y = arrays
        out = product(x, y, tuple(terms[0]), tuple(terms[1]), tuple(result or ()), numbers(len(result or ())))
        return cast(out, x.dtype)
    letters: dict[str, Name] = {}
    xs = [_labelled(x, term, letters) for x, term in zip(arrays, terms)]
    _check_labels(xs, terms)
    names = tuple(dict.fromkeys(n for x in xs for n in x.dims))
    dots = numbered_of(names)
    if result is None:
        every = "".join(terms)
        result = [Ellipsis, *sorted(a for a in letters if every.count(a) == 1)]
    wanted = tuple(n for part in result for n in (dots if part is Ellipsis else (letters[part],)))
    summed = tuple(n for n in names if n not in wanted)
    one = len(xs) == 1
    y = total(xs[0], summed, skipna=False) if one else contraction.dot(*meet(*xs), dim=summed)
    y = cast(y, np.result_type(*(x.dtype for x in xs)))
    y = ordered(y, wanted)
    shown = next((p for p in operands if isinstance(p, PositionalArray)), None)
    if shown is None or not one or summed:
        return y
    return view(shown, "rw", y, lambda base: np.einsum(*(base if p is shown else p for p in operands)))


def _is_pair(terms: Sequence[str], result: Sequence[Any] | None, arrays: Sequence[DimArray]) -> bool:
    """Whether it is a product of two arrays of one dtype, each letter an axis of its own that is kept, or both have."""
    if len(terms) != 2 or result is None or arrays[0].dtype != arrays[1].dtype or len({*result}) < len(result):
        return False
    (a, b), (x, y) = map(tuple, terms), arrays
    if len({*a}) < x.ndim or len({*b}) < y.ndim or "." in (*a, *b):
        return False
    sizes = dict(zip(a, x.shape)) if len(a) == x.ndim and len(b) == y.ndim else {}
    met = bool(sizes) and all(sizes.get(n, size) == size for n, size in zip(b, y.shape))
    return met and {*a} ^ {*b} <= {*result} <= {*a, *b}


def parse(*operands: Any) -> tuple[list[str], list[Any] | None, list[DimArray]]:
    """Subscripts per operand, the subscripts of the result (with ``...`` as Ellipsis), and the operands."""
    if not isinstance(operands[0], str):
        return _interleaved(operands)
    terms, result = _subscripts(operands[0])
    if len(terms) != len(operands) - 1:
        raise ValueError(f"einsum: {len(terms)} subscripts for {len(operands) - 1} operands")
    return terms, result, [numbered(a) for a in operands[1:]]


@functools.lru_cache(256)
def _subscripts(text: str) -> tuple[list[str], list[Any] | None]:
    inputs, arrow, output = text.replace(" ", "").partition("->")
    return inputs.split(","), _letters(output) if arrow else None


def _interleaved(operands: Sequence[Any]) -> tuple[list[str], list[Any] | None, list[DimArray]]:
    """``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""

    def spelled(labels: Any) -> str:
        return "".join("..." if label is Ellipsis else string.ascii_letters[label] for label in labels)

    count = len(operands) // 2
    terms = [spelled(operands[2 * i + 1]) for i in range(count)]
    output = _letters(spelled(operands[-1])) if len(operands) % 2 else None
    return terms, output, [numbered(operands[2 * i]) for i in range(count)]


def _letters(text: str) -> list[Any]:
    head, dots, tail = text.partition("...")
    return [*head, *([Ellipsis] if dots else []), *tail]


def _labelled(x: DimArray, term: str, letters: dict[str, Name]) -> DimArray:
    """Axes under the names of their letters; those of ``...`` keep numbers, a repeated letter is a diagonal."""
    head, dots, tail = term.partition("...")
    rest = x.ndim - len(head) - len(tail)
    if rest < 0 or (rest and not dots):
        raise ValueError(f"einsum: {term!r} does not fit an operand of shape {x.shape}")
    before, after = ([letters.setdefault(a, axes.local(("letter", a))) for a in part] for part in (head, tail))
    labels: list[Name] = [*before, *(axes.axis(i) for i in range(-rest, 0)), *after]
    own = [axes.local(("place", i)) for i in range(len(labels))]
    x = named(x, own)
    final: dict[Name, Name] = {}
    for label, name in zip(labels, own):
        first = next((n for n, taken in final.items() if taken is label), None)
        if first is None:
            final[name] = label
        else:
            _check("einsum", x, x, first, name)
            rest_of = [n for n in x.dims if n not in (first, name)]
            x = named(diagonal_of(x, first, name), (*rest_of, first))
    return relabel(x, final)


def _check_labels(xs: Sequence[DimArray], terms: Sequence[str]) -> None:
    sizes: dict[Name, int] = {}
    for x in xs:
        for n, s in x.sizes.items():
            old = sizes.setdefault(n, s)
            if not isinstance(n, axes.Axis) and old != s and 1 not in (old, s):
                raise ValueError(f"einsum: {n.base[1]!r} has sizes {old} and {s} in {','.join(terms)}")  # type: ignore[attr-defined]
            sizes[n] = max(old, s)


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    plain: list[Any] = [o if isinstance(o, (str, list)) else np.empty(numbered(o).shape) for o in operands]
    return np.einsum_path(*plain, optimize=optimize)
