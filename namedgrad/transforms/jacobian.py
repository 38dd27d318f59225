"""Named Jacobians and Hessians: one pass per element of the output (or input) that is not in ``over``.

Passes are batched: the seed carries one fresh axis that rides along by name, ``chunk`` of them at a time.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, extent, make
from namedgrad.axes import NONE, AxisError, Name, Names
from namedgrad.rules.movement import join, split
from namedgrad.rules.structure import add, cast, identity, multiply, relabel, reorder, total
from namedgrad.transforms.grad import Call, Output, grad, pushforward, restore_tree, run_recorded
from namedgrad.transforms.leaves import Block, runs, unflatten
from namedgrad.transforms.probing import unmixed
from namedgrad.transforms.progress import Progress
from namedgrad.transforms.tape import Tape, laid_out

MODES = ("auto", "forward", "reverse")
PARTS = ("full", "diagonal", "trace")
_I = constant(1j)


def jacobian(
    f: Callable[..., Any],
    wrt: Any = 0,
    *,
    over: Any = (),
    mode: str = "auto",
    suffix: str = "_wrt",
    chunk: int | None = None,
    progress: bool = False,
) -> Callable[..., Any]:
    """Function that returns the Jacobian: output dims keep their names, input dims get the suffix.

    Parameters
    ----------
    f : callable
        A function of DimArrays, xarray objects, NumPy or CuPy arrays, floats, and nested dicts, lists, tuples and
        dataclasses of them. It gets what it is given, traced.
    wrt : int, str or sequence of them
        The arguments to differentiate.
    over : name or names
        Independent dims: the Jacobian is block-diagonal over them and stores each once, unsuffixed.
    mode : {"auto", "forward", "reverse"}
        Forward takes one pass per input element, reverse one per output element; auto takes the fewer.
    suffix : str
        Appended to the input's dims; a name ``n`` that is not a string becomes ``(n, suffix)``.
    chunk : int, optional
        At most so many passes at once, which bounds memory.
    progress : bool
        Show a bar that counts passes.

    Returns
    -------
    callable
        Results have vectorized axes and ``over`` dims in front, then the output's dims, then the input's. Nested
        outputs of nested inputs nest output-first.

    Raises
    ------
    AxisError
        If a suffixed name is taken.
    TypeError
        If an input in ``wrt`` is complex or not floating-point.

    Notes
    -----
    Cost: ``ceil(n / chunk)`` sweeps, where n is the number of output (reverse) or input (forward) elements outside of
    ``over`` and the vectorized axes. Each sweep costs ``chunk`` times one gradient in time and memory.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> ng.jacobian(lambda x: x * x)(x)
    <DimArray (x: 2, x_wrt: 2) float64>
    array([[2., 0.],
           [0., 4.]])
    """
    _check_choice("mode", mode, MODES)

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = Call(f, wrt, over, args, kwargs)
        _refuse_complex(call)
        out, tape = run_for_passes(call)
        rows = block_rows(tape, mode, suffix, chunk, progress=progress)
        return assembled(out, call, rows)

    return wrapped


def hessian(
    f: Callable[..., Any],
    wrt: Any = 0,
    *,
    over: Any = (),
    suffix: str = "_wrt",
    chunk: int | None = None,
    part: str = "full",
    progress: bool = False,
) -> Callable[..., Any]:
    """Function that returns the Hessian with dims ``(x, x_wrt)``, forward over reverse.

    Parameters
    ----------
    f : callable
        Returns an array without visible dims.
    wrt, over, suffix, chunk, progress
        As for :func:`jacobian`.
    part : {"full", "diagonal", "trace"}
        ``"diagonal"`` (like the input) and ``"trace"`` never form the matrix: memory is that of ``chunk`` rows. Along
        dims whose cells do not meet in the gradient, as in a sum of losses of single cells, one pass serves all.

    Returns
    -------
    callable

    Raises
    ------
    AxisError, TypeError
        As for :func:`value_and_grad` and :func:`jacobian`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> ng.hessian(lambda x: (x * x * x).sum())(x).data
    array([[ 6.,  0.],
           [ 0., 12.]])
    >>> ng.hessian(lambda x: (x * x * x).sum(), part="trace")(x).item()
    18.0
    """
    _check_choice("part", part, PARTS)
    slope = grad(f, wrt)
    if part == "full":
        return functools.wraps(f, updated=())(
            jacobian(slope, wrt, over=over, mode="forward", suffix=suffix, chunk=chunk, progress=progress)
        )

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = Call(slope, wrt, over, args, kwargs)
        _refuse_complex(call)
        out, tape = run_for_passes(call)
        passes = sum(_count(x.sizes) for x in tape.ins)
        with Progress(passes, "hessian", shown=progress, unit="pass") as bar:
            diagonals = [_diagonal(tape, i, chunk or _DIAGONAL_CHUNK, bar) for i in range(len(tape.ins))]
        if part == "diagonal":
            return call.results(diagonals, out)
        traces = [total(d, d.dims) for d in diagonals]
        tree, value = call.trees[0], functools.reduce(lambda a, b: a + b, traces)
        return restore_tree(None, tree.adapters[0].number(tree.leaves[0], value), call.over)

    return wrapped


def hvp(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """Hessian of ``f`` at ``x`` times ``v``, forward over reverse: the cost of a few gradients.

    Parameters
    ----------
    f : callable
        Returns an array without visible dims.
    x : array or nested structure
    v : like ``x``
        Vectorized axes that it adds give one product each.

    Returns
    -------
    like ``x``

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, v = ng.DimArray([1.0, 2.0], ("x",)), ng.DimArray([1.0, 0.5], ("x",))
    >>> ng.hvp(lambda x: (x * x * x).sum(), x, v).data
    array([6., 6.])
    """
    return pushforward(grad(f), (x,), (v,))[1]


_DIAGONAL_CHUNK = 64


def _check_choice(what: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{what}={value!r} is not one of {', '.join(map(repr, allowed))}")


def _refuse_complex(call: Call) -> None:
    for p in call.parts:
        if p.dtype.kind == "c":
            raise TypeError(
                "a Jacobian or Hessian of complex input is not defined here; split it into real and imaginary parts: "
                "f(lambda re, im: g(re + 1j * im)) with wrt=(0, 1)"
            )


# ------------------------------------------------------------------------------------------------ passes


def block_rows(
    tape: Tape, mode: str, suffix: str, chunk: int | None, *, progress: bool = False
) -> list[list[Block]]:
    """The derivatives of each output (first) in each input, whose dims have names with ``suffix``."""
    ins, outs = [x.sizes for x in tape.ins], [o.sizes for o in tape.out_like]
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk={chunk} is not a positive number of passes")
    mode, passes = _cheaper(tape, mode)
    hidden = NONE.union(*(a.hidden for a in (*tape.ins, *tape.out_like)))
    names = [[_suffixed(i, hidden.union(o), suffix) for i in ins] for o in outs]
    _refuse_shown(tape, outs)
    with Progress(passes, "jacobian", shown=progress, unit="pass") as bar:
        if mode == "forward":
            columns = [_forward_blocks(tape, i, chunk, bar) for i in range(len(ins))]
        else:
            rows = [_reverse_blocks(tape, k, o, chunk, bar) for k, o in enumerate(outs)]
            columns = [list(c) for c in zip(*rows, strict=True)]
    return [
        [
            _finish(_cast(columns[i][k], x, tape.out_like[k]), tuple(o), names[k][i], suffix)
            for i, x in enumerate(tape.ins)
        ]
        for k, o in enumerate(outs)
    ]


def _cheaper(tape: Tape, mode: str) -> tuple[str, int]:
    """The mode, if it is left to us that of fewer passes, and their number."""
    columns = sum(_count(_seeded(x, lost)) for x in tape.ins for lost in _lost(tape, x))
    rows = sum(_count(o.sizes) * (1 + _is_complex(o)) for o in tape.out_like)
    if mode == "auto":
        mode = "forward" if columns <= rows or any(map(_is_complex, tape.ins)) else "reverse"
    return mode, columns if mode == "forward" else rows


def _refuse_shown(tape: Tape, outs: list[dict[Name, int]]) -> None:
    """Refuse outputs in which an axis is visible that is hidden in an input."""
    for x, o in itertools.product(tape.ins, outs):
        if clash := next((n for n in x.hidden if n in o), None):
            raise AxisError(
                f"jacobian: {clash!r} is a vectorized axis of the input and a dim of the output; "
                f"call .vectorize({clash!r}) on the output, or rename it there"
            )


def _is_complex(x: Any) -> bool:
    return bool(x.dtype.kind == "c")


def _cast(block: DimArray, x: Any, out: Any) -> DimArray:
    """A block in the precision of the input, as a gradient is; complex where the output is."""
    return cast(block, np.result_type(x.dtype, np.complex64) if _is_complex(out) else x.dtype)


def _count(sizes: dict[Name, int]) -> int:
    return math.prod(sizes.values())


_INSIDE: ContextVar[list[int] | None] = ContextVar("inside", default=None)


@functools.cache
def _pass_name(depth: int) -> Name:
    return axes.fresh(f"pass {depth}")


def run_for_passes(call: Call, *, borrow: bool = False) -> tuple[Output, Tape]:
    """Record ``f``; its passes go along an axis whose name no pass that was recorded inside has."""
    depth, outer = [0], _INSIDE.get()
    token = _INSIDE.set(depth)
    try:
        out, _, tape = run_recorded(call, borrow=borrow)
    finally:
        _INSIDE.reset(token)
    tape.along = _pass_name(depth[0])
    if outer is not None:
        outer[0] = max(outer[0], depth[0] + 1)
    return out, tape


def _seeds(tape: Tape, x: Any, sizes: dict[Name, int], chunk: int | None) -> Iterator[DimArray]:
    """Rows of the identity over the visible dims of ``x``, in chunks along the axis of passes."""
    n = _count(sizes)
    step = max(1, min(n, chunk or n))
    for start in range(0, max(n, 1), step):
        rows = min(step, n - start)
        raw = backends.call(x.backend.eye, rows, n, start, x.dtype)
        yield make(backends.call(x.backend.reshape, raw, (rows, *sizes.values())), (tape.along, *sizes), NONE)


def _reverse_blocks(tape: Tape, k: int, sizes: dict[Name, int], chunk: int | None, bar: Progress) -> list[DimArray]:
    """Blocks of one output with every input: names (V..., out dims, tagged input names)."""
    parts: list[list[DimArray]] = [[] for _ in tape.ins]
    alone = tape.only(k)  # V is that of this output
    for seed in _seeds(tape, tape.out_like[k], sizes, chunk):
        rows = alone.pull([seed], (tape.along,))
        if _is_complex(seed):  # of real inputs: 1 pulls the real parts of a row back, 1j the imaginary parts
            turned = alone.pull([multiply(seed, _I)], (tape.along,))
            rows = [add(g, multiply(h, _I)) for g, h in zip(rows, turned, strict=True)]
        for i, g in enumerate(rows):
            parts[i].append(_tagged(g, tape.ins[i].sizes, tape.out_like[k].hidden))
        bar.update(extent(seed, tape.along) * (1 + _is_complex(seed)))
    return [split(_joined(p, tape.along), tape.along, sizes) for p in parts]


def _tagged(g: DimArray, dims: Iterable[Name], slices: frozenset[Name]) -> DimArray:
    """The input's side of a gradient; a dim that is a slice of the output too becomes a diagonal over both."""
    g = relabel(g, {n: _Tag.get(n) for n in dims})
    for n in dims:
        if n in slices:
            tag = _Tag.get(n)
            g = relabel(multiply(g, identity(extent(g, tag), n, tag, g)), {}, hide=(n,))
    return g


def _lost(tape: Tape, x: Any) -> list[frozenset[Name]]:
    """Vectorized axes of an input that an output lacks, one set for each kind of output."""
    return list(dict.fromkeys(frozenset(x.hidden - o.hidden) for o in tape.out_like))


def _seeded(x: Any, lost: frozenset[Name]) -> dict[Name, int]:
    """The axes over which forward passes go: what the output lacks does not ride along."""
    return {n: s for n, s in zip(x.names, x.full_shape, strict=True) if n not in x.hidden or n in lost}


def _forward_blocks(tape: Tape, i: int, chunk: int | None, bar: Progress) -> list[DimArray]:
    """Blocks of one input with every output."""
    x = tape.ins[i]
    blocks: dict[int, DimArray] = {}
    for lost in _lost(tape, x):
        sizes = _seeded(x, lost)
        parts: dict[int, list[DimArray]] = {k: [] for k, o in enumerate(tape.out_like) if x.hidden - o.hidden == lost}
        for seed in _seeds(tape, x, sizes, chunk):
            pushed = tape.push_one(i, seed)
            for k, several in parts.items():
                several.append(pushed[k])
            bar.update(extent(seed, tape.along))
        tagged: dict[Name, int] = {n if n in lost else _Tag.get(n): s for n, s in sizes.items()}
        for k, several in parts.items():
            blocks[k] = relabel(split(_joined(several, tape.along), tape.along, tagged), {}, hide=tuple(lost))
    return [blocks[k] for k in range(len(tape.out_like))]


def _joined(parts: list[DimArray], along: Name) -> DimArray:
    parts = [relabel(p, {}, show=(along,)) for p in parts]
    return parts[0] if len(parts) == 1 else join(parts, along)


class _Tag:
    """The input's side of a dim while a Jacobian is put together, before it gets its suffix."""

    _made: ClassVar[dict[Name, _Tag]] = {}

    def __init__(self, name: Name) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name!r} of the input"

    @classmethod
    def get(cls, name: Name) -> _Tag:
        """One tag per name."""
        return cls._made.setdefault(name, cls(name))


def _suffixed(in_sizes: dict[Name, int], known: frozenset[Name], suffix: str) -> dict[Name, Name]:
    """New names of the input's dims; a taken one is refused."""
    table: dict[Name, Name] = {}
    for n in in_sizes:
        new: Name = f"{n}{suffix}" if isinstance(n, str) else n if isinstance(n, axes.Axis) else (n, suffix)
        if new in known or new in table.values():
            if isinstance(n, axes.Axis):
                new = _Tag.get(n)
            else:
                raise AxisError(f"jacobian: the name {new!r} for {n!r} of the input is taken; choose another suffix=")
        table[n] = new
    return table


def _finish(block: DimArray, out_names: Names, table: dict[Name, Name], suffix: str) -> Block:
    """A block in the order (vectorized..., output dims, input dims)."""
    wrt = tuple(table.values())
    block = relabel(block, {_Tag.get(old): new for old, new in table.items()})
    front = tuple(n for n in block.names if n not in out_names and n not in wrt)
    return Block(reorder(block, (*front, *out_names, *wrt)), out_names, wrt, table, suffix)


def _diagonal(tape: Tape, i: int, chunk: int, bar: Progress) -> DimArray:
    """The diagonal of the block of one input with itself."""
    x = tape.ins[i]
    sizes = x.sizes
    apart = unmixed(tape, i, sizes) if _count(sizes) > chunk else ()
    rest = {n: s for n, s in sizes.items() if n not in apart}
    parts = []
    for seed in _seeds(tape, x, rest, chunk):
        pushed = relabel(tape.push_one(i, seed)[i], {}, show=(tape.along,))
        parts.append(total(multiply(pushed, seed), tuple(rest)))
        bar.update(extent(seed, tape.along) * _count({n: sizes[n] for n in apart}))
    out = split(_joined(parts, tape.along), tape.along, rest)
    return laid_out(out, x, tuple(n for n in out.names if n not in x.names))


# ------------------------------------------------------------------------------------------------ results


def assembled(out: Output, call: Call, rows: list[list[Block]]) -> Any:
    """Blocks in the structure of the outputs, then of the inputs."""
    mine = runs(rows, out.tree.counts)
    triples = zip(out.tree.adapters, out.tree.leaves, mine, strict=True)
    result = [_row(adapter, leaf, call, own) if own else leaf for adapter, leaf, own in triples]
    return unflatten(out.tree.treedef, result)


def _row(out_adapter: Any, out_leaf: Any, call: Call, rows: Sequence[Sequence[Block]]) -> Any:
    counts = [n for tree in call.trees for n in tree.counts]
    blocks = zip(*(runs(row, counts) for row in rows), strict=True)

    def value(adapter: Any, leaf: Any, own: Sequence[Sequence[Block]]) -> Any:
        best = max(out_adapter, adapter, key=lambda a: a.precedence)
        return restore_tree(None, best.jacobian(out_leaf, leaf, own), call.over) if own[0] else None

    per_wrt = [
        unflatten(tree.treedef, [value(a, leaf, next(blocks)) for a, leaf in zip(tree.adapters, tree.leaves)])
        for tree in call.trees
    ]
    return tuple(per_wrt) if call.several else per_wrt[0]
