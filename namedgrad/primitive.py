"""The four forms of declaration, and the registry that everything public is generated from.

=============  ==========================================  =====================================================
form           declares                                    linear map
=============  ==========================================  =====================================================
elementwise    kernel + one partial per operand            a scaling
linear         kernel along named axes + its transpose     the operation itself
contract       two operands, the names summed              bilinear: contractions with the other operand
core           gufunc signature + kernel + pullback        the pullback; its transpose unless a pushforward is given
=============  ==========================================  =====================================================

A kernel is the name of a function that every backend has.  Partials, transposes and pullbacks are written in traced
operations, on ``core`` names where the operation has core dims, so every order of derivative and any number of batch
axes come for free.  They are declared holomorphically: the engine conjugates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, describe, make
from namedgrad.axes import AxisError, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Bilinear, CoreMap, Factor, Leaf, Like, Map, Mask, Pair, Scale, add_all, fold, like, ops
from namedgrad.trace import Level, Traced, apply, backward, innermost

REGISTRY: dict[str, Primitive] = {}


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
    linear_in_all: bool = False


OPERATIONS: dict[str, Operation] = {}


def operation(
    *samples: Sample, method: bool = False, differentiable: bool = True, name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Publish a function of DimArrays: as ``ng.<name>``, as a method if asked, in the test table and the docs."""

    def publish(function: Callable[..., Any]) -> Callable[..., Any]:
        key = name or function.__name__
        family = function.__module__.rsplit(".", 1)[-1]
        OPERATIONS[key] = Operation(key, function, family, samples, method, differentiable)
        return function

    return publish


class Primitive:
    """One operation: how it computes and what its derivative is."""

    form = ""
    signature = "()"

    def __init__(self, name: str, kernel: str | None = None) -> None:
        self.name, self.kernel = name, kernel or name
        self.kernels: dict[Any, Callable[..., Any]] = {}
        REGISTRY[name] = self

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


def mismatch(name: str, args: Sequence[DimArray]) -> AxisError:
    """The error for one name with two sizes."""
    sizes: dict[Name, set[int]] = {}
    for a in args:
        for n, s in zip(a.names, a.full_shape, strict=True):
            sizes.setdefault(n, set()).add(s)
    bad = [n for n, s in sizes.items() if len(s) > 1]
    shown = ", ".join(describe(a) for a in args)
    return AxisError(
        f"{name}: sizes of {', '.join(map(repr, bad))} differ among the operands {shown}; one name has one size: "
        f"index or align the operands first (size 1 is not broadcast: use .squeeze({bad[0]!r})), or rename one"
    )


def check_sizes(name: str, args: Sequence[DimArray]) -> dict[Name, int]:
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
    if move.index is not None:
        raw = call(backends.backend_of(raw).getitem, raw, move.index)
    return raw


# ------------------------------------------------------------------------------------------------ elementwise


class Elementwise(Primitive):
    """No core dims; ``partials[i]`` is ``f(out, *operands)`` or an int, None if there is no derivative."""

    form = "elementwise"

    def __init__(self, name: str, partials: Sequence[Any], kernel: str | None = None) -> None:
        super().__init__(name, kernel)
        self.partials = partials

    def publish(self, domains: Sequence[str]) -> None:
        """Make this primitive a public function."""
        dims = (("(a,b)", "(a,b)", "(a,b)"), ("(a,b)", "(b,c)", "(c)"), ("(b)", "(a,b)", "(a)"))
        calls = [sample(*(d + n for d, n in zip(domains, names))) for names in dims[: 3 if len(domains) > 1 else 1]]
        smooth = any(d is not None for d in self.partials)
        operation(*calls, differentiable=smooth, name=self.name)(self.of_operands)

    def of_operands(self, *args: Any) -> DimArray:
        """Apply to DimArrays and scalars."""
        return self(*(a if isinstance(a, DimArray) else constant(a) for a in args))

    def __call__(self, *args: DimArray) -> DimArray:
        count = len(args)
        if count == 2:
            return self.two(*args)
        return self.one(*args) if count == 1 else apply(self, args)

    def one(self, x: DimArray) -> DimArray:
        """Apply to one operand: :func:`namedgrad.trace.apply`, unrolled because this is the hottest path there is."""
        level = x.level
        if level is None:
            return self.compute_one(x)
        if not level.fast:
            return apply(self, (x,))
        value = x.value  # type: ignore[attr-defined]
        out = self.one(value)
        (d,) = self.partials
        if d is None:
            return out
        factor = d if type(d) is int else d(out, value)
        return level.record(Scale(((factor, value.names, None),), None), (x.node,), out)  # type: ignore[attr-defined]

    def two(self, x: DimArray, y: DimArray) -> DimArray:
        """Apply to two operands, unrolled like :meth:`one`."""
        lx, ly = x.level, y.level
        if lx is None:
            if ly is None:
                return self.compute_two(x, y)
            level = ly
        elif ly is None or lx is ly:
            level = lx
        else:
            level = lx if lx.index > ly.index else ly
            if not (lx.fast and ly.fast):
                return apply(self, (x, y))
        if not level.fast or level.borrow:
            return apply(self, (x, y))
        a = x.value if lx is level else x  # type: ignore[attr-defined]
        b = y.value if ly is level else y  # type: ignore[attr-defined]
        out = self.two(a, b)
        names = out.names
        short = None
        terms: Any = ()
        nodes: Any = ()
        if lx is level:
            d = self.partials[0]
            if d is None:
                return out
            terms = ((d if type(d) is int else d(out, a, b), a.names, None if a.dtype is out.dtype else a.dtype),)
            nodes = (x.node,)  # type: ignore[attr-defined]
            if a.names != names:
                short = like(out)
        if ly is level:
            d = self.partials[1]
            if d is None:
                return out
            terms += ((d if type(d) is int else d(out, a, b), b.names, None if b.dtype is out.dtype else b.dtype),)
            nodes += (y.node,)  # type: ignore[attr-defined]
            if short is None and b.names != names:
                short = like(out)
        return level.record(Scale(terms, short), nodes, out)

    def lower(self, args: Sequence[DimArray]) -> DimArray:
        if len(args) == 2:
            return self.compute_two(*args)
        return self.compute_one(*args) if len(args) == 1 else self.align(args)

    def compute_one(self, x: DimArray) -> DimArray:
        """One untraced operand."""
        raw = x.raw
        return make(call(self.kernels.get(type(raw)) or self.kernel_for(raw), raw), x.names, x.hidden)

    def compute_two(self, x: DimArray, y: DimArray) -> DimArray:
        """Two untraced operands: without a plan if their dims are equal or one is a scalar."""
        a, b = x.raw, y.raw
        names = x.names
        if names == y.names:
            hidden = x.hidden
            if hidden is not y.hidden and type(hidden) is not axes.ByName:
                if type(y.hidden) is axes.ByName:
                    hidden = y.hidden
                elif hidden != y.hidden:
                    return self.align((x, y))
            if names and a.shape != b.shape:
                raise mismatch(self.name, (x, y))
        elif not y.names:
            hidden = x.hidden
        elif not names:
            names, hidden = y.names, y.hidden
        else:
            return self.align((x, y))
        kind = type(a)
        kernel = (self.kernels.get(kind) if kind is type(b) else None) or self.kernel_for_two(a, b)
        return make(call(kernel, a, b), names, hidden)

    def kernel_for_two(self, a: Any, b: Any) -> Callable[..., Any]:
        """The kernel for two raw operands, remembered if they are of one type."""
        found = self.kernel_for(a, b)
        if type(a) is type(b) and backends.backend_of_type(type(a)) is backends.NUMPY:
            self.kernels[type(a)] = found
        return found

    def align(self, args: Sequence[DimArray]) -> DimArray:
        """The general path: align by name, then compute."""
        check_sizes(self.name, args)
        try:
            names, hidden, moves = axes.elementwise_plan(tuple(a.names for a in args), tuple(a.hidden for a in args))
        except AxisError as error:
            raise AxisError(f"{self.name}: {error}; operands {', '.join(map(describe, args))}") from None
        raw = [place(a.raw, m) if a.names else a.raw for a, m in zip(args, moves, strict=True)]
        return make(call(self.kernel_for(*raw), *raw), names, hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool]) -> Map | None:
        terms, short = [], None
        for d, x, n in zip(self.partials, ins, need, strict=True):
            if n:
                if d is None:
                    return None
                factor = d if type(d) is int else d(out, *ins)
                terms.append((factor, x.names, None if x.dtype is out.dtype else x.dtype))
                if x.names != out.names:
                    short = like(out)
        return Scale(terms, short)


# ------------------------------------------------------------------------------------------------ linear


class Linear(Primitive):
    """Linear in one operand, along named dims of it; the kernel gets their axes and nothing is permuted.

    ``signature`` ``(n)->(n)`` keeps the dims (their sizes may change), ``(n)->()`` removes them, ``()->(n)`` makes
    them.  ``transpose(g, x, **params)`` is written on core names; ``x`` is a :class:`~namedgrad.linear.Like`.
    """

    form = "linear"

    def __init__(
        self, signature: str, name: str, transpose: Callable[..., DimArray], kernel: str | None = None, *, many: bool = False
    ) -> None:
        super().__init__(name, kernel)
        self.signature, self.transpose, self.many = signature, transpose, many
        self.drops = signature.endswith("->()")
        self.makes = signature.startswith("()->")

    def __call__(self, x: DimArray, dims: Names = (axes.core(-1),), **params: Any) -> Any:
        return apply(self, (x,), dims=dims, **params)

    def lower(self, args: Sequence[DimArray], dims: Names, **params: Any) -> DimArray:
        (x,) = args
        if self.makes:
            names = (*x.names, *dims)
            at: Any = axes.positions(names, dims)
        else:
            at = axes.positions(x.names, dims)
            names = tuple(n for n in x.names if n not in dims) if self.drops else x.names
        kernel = self.kernels.get(type(x.raw)) or self.kernel_for(x.raw)
        raw = call(kernel, x.raw, at if self.many else at[0], **params)
        return make(raw, names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names, **params: Any) -> Map:
        (x,) = ins
        frame = dict(zip(dims, axes.cores(len(dims)), strict=True))
        inner = axes.cores(len(dims))
        info = _framed(like(x), {} if self.makes else frame)

        def pull(g: DimArray) -> list[DimArray]:
            return [self.transpose(g, info, **params)]

        def push(ts: list[DimArray | None]) -> DimArray:
            return apply(self, ts, dims=inner, **params)

        in_frame = {} if self.makes else frame
        out_frame = {} if self.drops else frame
        map_ = CoreMap(push, pull, [like(x)], [in_frame], out_frame)
        map_.mixes = tuple(n for n in dims if not isinstance(n, axes.Core))
        return map_


def _framed(x: Like, frame: dict[Name, Name]) -> Like:
    return Like(tuple(frame.get(n, n) for n in x.names), x.full_shape, x.dtype)


# ------------------------------------------------------------------------------------------------ reductions


class Reduction(Primitive):
    """Removes named dims of one operand; the kernel gets their axes and nothing is permuted.

    ``pullback(g, y, x)`` and ``pushforward(t, y, x)`` are written on core names; without them there is no derivative.
    """

    form, signature = "core", "(n...)->()"

    def __init__(self, name: str, pullback: Any, pushforward: Any) -> None:
        super().__init__(name)
        self.pullback, self.pushforward = pullback, pushforward

    def __call__(self, x: DimArray, dims: Names) -> Any:
        return apply(self, (x,), dims=dims)

    def lower(self, args: Sequence[DimArray], dims: Names) -> DimArray:
        (x,) = args
        raw = call(self.kernel_for(x.raw), x.raw, axes.positions(x.names, dims))
        return make(raw, tuple(n for n in x.names if n not in dims), x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names) -> Map | None:
        if self.pullback is None:
            return None
        frame = dict(zip(dims, axes.cores(len(dims)), strict=True))
        x = ops.relabel(ins[0], frame)
        return CoreMap(
            lambda ts: self.pushforward(ts[0], out, x), lambda g: self.pullback(g, out, x), [like(ins[0])], [frame], {}
        )


# ------------------------------------------------------------------------------------------------ contract


class Contract(Primitive):
    """``contract(x, y, over)``: product by name, summed over names; lowered to one batched matrix product."""

    form = "contract"

    def __call__(self, x: DimArray, y: DimArray, over: Names) -> DimArray:
        over = tuple(over)
        x, y = (_presum(a, b, over) for a, b in ((x, y), (y, x)))
        over = tuple(n for n in over if n in x.names and n in y.names)
        return apply(self, (x, y), over=over) if over else ops.mul(x, y)

    def lower(self, args: Sequence[DimArray], over: Names) -> DimArray:
        x, y = args
        check_sizes(self.name, args)
        hidden = axes.merge_hidden((x.names, y.names), (x.hidden, y.hidden))
        plan = axes.matmul_plan(x.names, y.names, over)
        backend = backends.backend_of(x.raw, y.raw)
        b, m, k, n = plan.counts
        xs, xm = _matrix(backend, x.raw, plan.perms[0], (b, m, k))
        ys, yn = _matrix(backend, y.raw, plan.perms[1], (b, k, n))
        raw = call(backend.matmul, xm, yn)
        shape = (*xs[: b + m], *ys[b + k :])
        if raw.shape != shape:
            raw = call(backend.reshape, raw, shape)
        if plan.back is not None:
            raw = call(backend.transpose, raw, plan.back)
        out = hidden if type(hidden) is axes.ByName else hidden.difference(over)
        return make(raw, plan.out, out)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], over: Names) -> Map:
        x, y = ins
        pairs = [(a, b) for a, b, n in ((x, y, need[0]), (y, x, need[1])) if n]
        return Bilinear([like(a) for a, _ in pairs], [b for _, b in pairs], over)


def _presum(a: DimArray, b: DimArray, over: Names) -> DimArray:
    own = tuple(n for n in over if n in a.names and n not in b.names)
    return ops.total(a, own) if own else a


def _matrix(backend: Any, raw: Any, perm: tuple[int, ...] | None, counts: tuple[int, int, int]) -> tuple[Any, Any]:
    """Permute and flatten to ``[batch..., rows, columns]``; also the permuted shape."""
    if perm is not None:
        raw = call(backend.transpose, raw, perm)
    shape = raw.shape
    b, r, c = counts
    if r == c == 1:
        return shape, raw
    flat = (*shape[:b], _prod(shape[b : b + r]), _prod(shape[b + r :]))
    return shape, call(backend.reshape, raw, flat)


def _prod(sizes: Sequence[int]) -> int:
    out = 1
    for s in sizes:
        out *= s
    return out


# ------------------------------------------------------------------------------------------------ core


class CoreOp(Primitive):
    """Core dims on several operands, like a NumPy gufunc: ``(m,m),(m)->(m)``.

    ``pullback(g, out, *operands)`` gives one cotangent (or a :class:`~namedgrad.linear.Pair`) per operand, on core
    names; ``pushforward(tangents, out, *operands)`` may be given where transposing the pullback is slow.
    """

    form = "core"

    def __init__(
        self,
        signature: str,
        name: str,
        pullback: Callable[..., Sequence[Any]],
        kernel: str | None = None,
        pushforward: Callable[..., DimArray] | None = None,
        *,
        columns: int | None = None,
    ) -> None:
        super().__init__(name, kernel)
        self.signature, self.pullback, self.pushforward, self.columns = signature, pullback, pushforward, columns
        left, right = signature.split("->")
        self.ins = tuple(_core_names(group) for group in re.findall(r"\(([^)]*)\)", left))
        (self.out,) = (_core_names(group) for group in re.findall(r"\(([^)]*)\)", right))

    def __call__(self, *args: DimArray, dims: tuple[Names, ...] | None = None, out: Names | None = None, **params: Any) -> Any:
        return apply(self, args, dims=self.ins if dims is None else dims, out=self.out if out is None else out, **params)

    def lower(self, args: Sequence[DimArray], dims: tuple[Names, ...], out: Names, **params: Any) -> DimArray:
        check_sizes(self.name, args)
        names = tuple(a.names for a in args)
        columns: Names = ()
        if self.columns is not None:
            others = {n for i, own in enumerate(names) for n in own if i != self.columns}
            columns = tuple(n for n in names[self.columns] if n not in others and n not in dims[self.columns])
        ins = tuple((*d, *columns) if i == self.columns else d for i, d in enumerate(dims))
        plan = axes.core_plan(names, tuple(a.hidden for a in args), ins, ((*out, *columns),))
        raw = [place(a.raw, m) for a, m in zip(args, plan.moves, strict=True)]
        backend = backends.backend_of(*raw)
        tail: tuple[int, ...] = ()
        if self.columns is not None:
            flat = raw[self.columns]
            tail = flat.shape[flat.ndim - len(columns) :]
            raw[self.columns] = call(backend.reshape, flat, (*flat.shape[: flat.ndim - len(columns)], _prod(tail)))
        res = call(self.kernel_for(*raw), *raw, **params)
        if self.columns is not None:
            res = call(backend.reshape, res, (*res.shape[:-1], *tail))
        if plan.back[0] is not None:
            res = call(backend.transpose, res, plan.back[0])
        return make(res, plan.outs[0], plan.hidden)

    def linear(
        self, out_: DimArray, ins: list[DimArray], need: list[bool], dims: tuple[Names, ...], out: Names, **params: Any
    ) -> Map:
        frames = [dict(zip(d, c, strict=True)) for d, c in zip(dims, self.ins, strict=True)]
        out_frame = dict(zip(out, self.out, strict=True))
        y = ops.relabel(out_, out_frame)
        xs = [ops.relabel(x, f) for x, f in zip(ins, frames, strict=True)]
        at = [i for i, n in enumerate(need) if n]

        def pull(g: DimArray) -> list[Any]:
            parts = self.pullback(g, y, *xs, **params)
            return [parts[i] for i in at]

        def push(ts: list[DimArray | None]) -> DimArray:
            if self.pushforward is not None:
                full: list[DimArray | None] = [None] * len(xs)
                for i, t in zip(at, ts, strict=True):
                    full[i] = t
                return self.pushforward(full, y, *xs, **params)
            return transpose_of(pull, y, [like(xs[i]) for i in at], ts)

        return CoreMap(push, pull, [like(ins[i]) for i in at], [frames[i] for i in at], out_frame)


def _core_names(group: str) -> Names:
    return axes.cores(len([p for p in group.split(",") if p.strip()]))


def transpose_of(
    pull: Callable[[DimArray], Sequence[Any]], out: DimArray, operands: list[Like], ts: list[DimArray | None]
) -> DimArray:
    """A pushforward as the transpose of a pullback: the pullback is linear in its cotangent, so pull *that* back."""
    parts = [_transposed(pull, out, x, i, t) for i, (x, t) in enumerate(zip(operands, ts, strict=True)) if t is not None]
    found = [p for p in parts if p is not None]
    return add_all(found) if found else zeros_of(out)


def _transposed(
    pull: Callable[[DimArray], Sequence[Any]], out: DimArray, x: Like, which: int, t: DimArray
) -> DimArray | None:
    met = tuple(n for n in t.names if n not in x.names and n in out.names)
    fresh = frozenset((n, n) for n in t.names if n not in x.names and n not in out.names)
    level, leaf = Level(), Leaf()
    try:
        zero = ops.stamp(zeros_of(out), axes.by_name())
        c = pull(Traced(zero, level, leaf))[which]
        pair = c if type(c) is Pair else Pair(c, 1)  # type: ignore[arg-type]
        c = fold(ops.stamp(pair.g, axes.by_name()), pair.factor, (*x.names, *met))
        if c.level is not level:
            return None
        seed = ops.stamp(ops.spread(t, like(c)), axes.by_name(fresh))
        (g,) = backward(level.tape or (), [(c.node, seed)], [leaf])  # type: ignore[attr-defined]
        return g
    finally:
        level.close()


def zeros_of(x: DimArray) -> DimArray:
    """Zeros with the names, sizes and dtype of ``x``, on its backend."""
    raw = innermost(x).raw
    zero = call(backends.backend_of(raw).full, (), 0, x.dtype)
    return ops.spread(make(zero, (), x.hidden), like(x))


# ------------------------------------------------------------------------------------------------ declarations


def elementwise(name: str, *partials: Any, kernel: str | None = None, domain: str | Sequence[str] = "") -> Elementwise:
    """Declare an elementwise operation: one partial ``f(out, *operands)``, an int or None per operand.

    With a ``domain`` (one for all operands, or one each) the operation is public, and the tests draw from there.
    """
    prim = Elementwise(name, partials, kernel)
    if domain:
        prim.publish((domain,) * len(partials) if isinstance(domain, str) else tuple(domain))
    return prim


def linear(
    signature: str, name: str, *, transpose: Callable[..., DimArray], kernel: str | None = None, many: bool = False
) -> Linear:
    """Declare a linear operation along named dims."""
    return Linear(signature, name, transpose, kernel, many=many)


def reduction(name: str, *, pullback: Any = None, pushforward: Any = None) -> Reduction:
    """Declare a reduction over named dims."""
    return Reduction(name, pullback, pushforward)


def core(signature: str, name: str, *, pullback: Callable[..., Sequence[Any]], kernel: str | None = None,
         pushforward: Callable[..., DimArray] | None = None, columns: int | None = None) -> CoreOp:
    """Declare an operation with core dims."""
    return CoreOp(signature, name, pullback, kernel, pushforward, columns=columns)


def mask(where: DimArray) -> Mask:
    """A partial that selects instead of multiplying."""
    return Mask(where)
