"""How transforms take positional arrays, plain arrays and Python numbers apart and put them back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE, Names
from namedgrad.positional.array import Lifted, PositionalArray, as_array, numbers, renumber, wrap
from namedgrad.positional.memory import given, steps
from namedgrad.positional.scipy_fft import offer
from namedgrad.positional.uncounted import UncountedCells
from namedgrad.transforms.leaves import Adapter, Block, add_adapter


class Positional(Adapter):
    """Positional arrays."""

    precedence = 1

    def parts(self, leaf: PositionalArray) -> tuple[DimArray, ...]:
        return (leaf._x,) if leaf.dtype.kind in "fc" else ()

    def fixed(self, leaf: Any) -> Hashable:
        return steps(leaf)

    def rebuild(self, leaf: PositionalArray, parts: Sequence[DimArray]) -> Any:
        return _alike(leaf, parts[0]) if parts else leaf

    seen = rebuild

    def result(self, leaf: PositionalArray, parts: Sequence[DimArray]) -> Any:
        return self.returned(leaf, parts) if parts else leaf

    def arrays(self, leaf: PositionalArray) -> tuple[DimArray, ...]:
        return (leaf._x,)

    def returned(self, leaf: PositionalArray, arrays: Sequence[DimArray]) -> Any:
        out = _as_number(leaf, leave(arrays[0])) if type(leaf) is Lifted else wrap(arrays[0])
        return given(out, leaf) if isinstance(out, PositionalArray) else out

    def number(self, leaf: Any, x: DimArray) -> Any:
        return wrap(x) if type(leaf) is PositionalArray else leave(x)

    def vectorize(self, leaf: Any, names: Names) -> Any:
        return leaf  # numbered axes have no names that could be meant

    def dims(self, leaf: Any) -> Names:
        return ()

    def restore(self, original: Any, result: Any, names: Names) -> Any:
        if not isinstance(result, PositionalArray):
            return result
        out = result.devectorize(*(n for n in names if n in result._x.hidden))
        return out if original is None or isinstance(original, PositionalArray) else leave(out._x)

    def jacobian(self, out_leaf: Any, in_leaf: Any, blocks: Sequence[Sequence[Block]]) -> Any:
        """Axes of the output, then those of the input; named if all of them belong to a DimArray on one side."""
        block = blocks[0][0]
        x = block.array
        if isinstance(out_leaf, DimArray) or isinstance(in_leaf, DimArray):
            mine = block.in_names if isinstance(out_leaf, DimArray) else block.out_names
            if x.hidden.issuperset(mine):
                return x
        x = renumber(x)
        return wrap(x) if PositionalArray in (type(out_leaf), type(in_leaf)) else _as_number(in_leaf, leave(x))


class Plain(Positional):
    """Plain arrays: positional inside, plain again outside unless the answer has vectorized axes."""

    def vectorized(self, leaf: Any) -> Names:
        return ()

    def parts(self, leaf: Any) -> tuple[DimArray, ...]:
        return (self._numbered(leaf),) if leaf.dtype.kind in "fc" else ()

    def arrays(self, leaf: Any) -> tuple[DimArray, ...]:
        return (self._numbered(leaf),) if leaf.dtype.kind in "biufc" else ()

    def _numbered(self, leaf: Any) -> DimArray:
        return make(backends.as_plain(leaf, "an argument"), numbers(leaf.ndim), NONE)

    def fixed(self, leaf: Any) -> Hashable:
        return steps(leaf) if leaf.dtype.kind in "biufc" else (leaf.shape, str(leaf.dtype), repr(leaf.tolist()))

    def returned(self, leaf: Any, arrays: Sequence[DimArray]) -> Any:
        return leave(arrays[0]) if arrays else leaf

    def rebuild(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        return _lifted(leaf, parts[0]) if parts else leaf

    seen = rebuild

    def result(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        out = leave(parts[0]) if parts else leaf
        return np.asarray(out) if isinstance(leaf, np.ndarray) and isinstance(out, np.generic) else out

    def describe(self, leaf: Any) -> str:
        return f"an array of dtype {leaf.dtype}"


class Number(Plain):
    """Python floats and complex numbers."""

    def parts(self, leaf: Any) -> tuple[DimArray, ...]:
        return (make(leaf, (), NONE),)

    arrays = parts

    def fixed(self, leaf: Any) -> Hashable:
        return ()

    def rebuild(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        return _as_number(leaf, _lifted(leaf, parts[0]))

    seen = rebuild

    def result(self, leaf: Any, parts: Sequence[DimArray]) -> Any:
        out = _as_number(leaf, leave(parts[0]))
        return out if isinstance(out, PositionalArray) else type(leaf)(out)

    def describe(self, leaf: Any) -> str:
        return type(leaf).__name__


class Uncounted(Adapter):
    """Cells in an open number, which cannot be a result."""

    def parts(self, leaf: UncountedCells) -> tuple[DimArray, ...]:
        raise leaf.refused("a result")

    arrays = parts


def _alike(leaf: PositionalArray, x: DimArray) -> PositionalArray:
    offer()
    out = given(wrap(x, type(leaf)), leaf)
    return _as_number(leaf, out) if leaf._is_number else as_array(out)


def _lifted(leaf: Any, x: DimArray) -> PositionalArray:
    offer()
    out = given(wrap(x, Lifted), leaf)
    return as_array(out) if backends.is_array(leaf) else out


def leave(x: DimArray) -> Any:
    """The plain array of a result; still positional if it is traced at an outer level or differs per slice."""
    if x.level is not None or x.hidden or backends.is_recording():
        return wrap(x, PositionalArray if x.hidden and x.level is None else Lifted)
    raw = x.raw
    return raw[()] if isinstance(raw, np.ndarray) and not raw.ndim else raw


def _as_number(leaf: Any, out: Any) -> Any:
    """A derivative, or what is to be one, as a number of Python's if ``leaf`` is one and it has no axes."""
    if not (_is_number(leaf) or getattr(leaf, "python", False)):
        return out
    if isinstance(out, PositionalArray):
        if type(out) is Lifted and not out._x.names:
            out.python = True
        return out
    return out.item() if hasattr(out, "item") and not out.ndim else out


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, complex)) and not isinstance(x, np.generic)


def _is_plain(x: Any) -> bool:
    return isinstance(x, np.generic) or backends.is_array(x)


add_adapter(lambda x: isinstance(x, PositionalArray), Positional())
add_adapter(lambda x: isinstance(x, UncountedCells), Uncounted())
add_adapter(_is_number, Number())
add_adapter(_is_plain, Plain())
