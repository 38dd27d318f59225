"""The operations that linear maps themselves are made of: sums, products, broadcasting and renaming by name."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, extent, make
from namedgrad.axes import AxisError, ByName, Name, Names
from namedgrad.backends import call
from namedgrad.linear import Bilinear, Like, Map, Structural, Weight, fold, like, ops
from namedgrad.primitive import Contract, Elementwise, Primitive, elementwise, mask, place
from namedgrad.squares import Length
from namedgrad.trace import Traced, apply, innermost
from namedgrad.versions import home_of, renamed

# fmt: off
#                       name          d/dx                        d/dy
add      = elementwise("add",         1,                          1)
subtract = elementwise("subtract",    1,                          -1)
negative = elementwise("negative",    -1)
multiply = elementwise("multiply",    lambda o, x, y: y,          lambda o, x, y: x)
weigh    = elementwise("weigh",       lambda o, g, f: f,          lambda o, g, f: Weight(g), kernel="multiply")
scale    = elementwise("scale",       lambda o, g, f: shield(f, g), lambda o, g, f: Weight(g))
select   = elementwise("select",      None,                       lambda o, m, x: mask(m))
shield   = elementwise("shield",      lambda o, f, g: mask(equal(o, f)), None)
equal    = elementwise("equal",       None, None)
# fmt: on
_ZERO = make(0, (), axes.NONE)
MANY = 10_000  # cells from which on a pass over them takes longer than to look whether it is needed


class _Contract(Contract):
    """A product by name summed over names; of an array with itself it has one factor, twice the array."""

    def __call__(self, x: DimArray, y: DimArray, over: Names) -> DimArray:
        if x is y and x.level is not None and type(x) is not Length and (own := tuple(n for n in over if n in x.names)):
            return apply(_OWN, (x,), over=own)
        if type(x) is type(y) is Length and (set(x.names) <= set(y.names) or set(y.names) <= set(x.names)):
            return total(multiply.two(x, y), over)  # squares of lengths in the sum are smooth where these are 0
        return super().__call__(x, y, over)


class _Own(Primitive):
    """An array times itself, summed over names."""

    form, keeps = "contract", "factors"

    def lower(self, args: Sequence[DimArray], over: Names) -> DimArray:
        (x,) = args
        return contract(x, x, over)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], over: Names) -> Map:
        (x,) = ins
        return contract.linear(out, [x, add.two(x, x)], [True, False], over)


contract, _OWN = _Contract("contract"), _Own("own_product")
weighed_contract = Contract("weighed_contract", weight=True)


class Late(DimArray):
    """A factor made of an array, computed where it is asked for; the first cotangent ``meets`` the array itself.

    That spares a pass over memory, and the factor; what is computed does not show the memory of that array.
    """

    __slots__ = ("_whole", "by", "joins", "meets", "of_one")

    def __init__(
        self, by: DimArray, whole: Callable[[DimArray], DimArray], meets: Callable[..., Any],
        joins: Callable[..., Any] | None = None, *, of_one: bool = False,
    ) -> None:  # fmt: skip
        self.by: DimArray | None = by
        self.names, self.hidden, self._whole, self.meets = by.names, by.hidden, whole, meets
        self.of_one = of_one  #: whether it is made of that array alone
        self.joins = joins  #: the sum of the product of the factor of another operand and of this one, of the tangents

    def __getattr__(self, name: str) -> Any:
        if name != "raw":
            raise AttributeError(name)
        with _WAITING:
            if self.by is not None:
                self.raw, self.by = self._whole(self.by).raw, None
                self._whole = self.meets = _no_more  # nor is what they were made of kept
        return self.raw

    def first(self, g: DimArray) -> DimArray | None:
        """The product with a cotangent that is not traced, None the second time."""
        by, meets, self.meets = self.by, self.meets, _no_more
        found: DimArray | None = None if by is None else meets(g, by)
        return found


_WAITING = threading.RLock()  # threads may pull through one map


def _no_more(*_: DimArray) -> Any:
    """Who pulls again multiplies by what is computed then."""


def weighed(g: DimArray, f: DimArray) -> DimArray:
    """``g * f``; where ``g`` is the gradient of a sum, 1 in every cell, ``f`` itself, as a view that nobody can change.

    It spares one pass over memory, a sixth of a gradient of a million cells.
    """
    if g.level is not None or not backends.NUMPY.is_one(g.raw):
        out = f.first(g) if type(f) is Late and g.level is None else None
        return weigh.two(g, f) if out is None else out
    alike = g.names == f.names and g.dtype == f.dtype and f.size >= MANY and not backends.is_recording()
    return fixed(f) if alike else weigh.two(g, f)


def fixed(x: DimArray) -> DimArray:
    """The same array, read-only at the bottom."""
    if x.level is not None:
        return Traced(fixed(x.value), x.level, x.node)
    return make(call(backends.NUMPY.read_only, x.raw), x.names, x.hidden)


def outweighed(g: DimArray, weight: DimArray) -> DimArray:
    """``g * weight``, where 0 times what is not finite is 0 both ways."""
    return scale.two(shield.two(g, weight), weight)


def scaled(g: DimArray, f: DimArray) -> DimArray:
    """``g * f``, guarded; the first tangent meets what a late factor is made of, if it stays finite there."""
    out = f.first(g) if type(f) is Late and g.level is None else None
    return scale.two(g, f) if out is None or not known_finite(out) else out


class Summed(Structural):
    """The map of :class:`Total`: cotangents are repeated, so that they are 0 nowhere if they were not.

    Like the maps below it holds what it needs and no functions, of which each were several objects.
    """

    __slots__ = ("dims", "x")

    def __init__(self, x: DimArray, dims: Names) -> None:
        self.x, self.dims, self.mixes = like(x), dims, dims

    def _push(self, t: DimArray) -> DimArray:
        return total(t, self.dims)

    def _pull(self, g: DimArray) -> DimArray:
        return spread(g, self.x)


class Total(Primitive):
    """Sum over named axes."""

    form, signature, keeps = "linear", "(n...)->()", "constants"

    def lower(self, args: Sequence[DimArray], dims: Names) -> DimArray:
        (x,) = args
        kernel = self.kernels.get(type(x.raw)) or self.kernel_for(x.raw)
        names = tuple(n for n in x.names if n not in dims)
        return make(call(kernel, x.raw, axes.positions(x.names, dims)), names, axes.without(x.hidden, dims))

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dims: Names) -> Map:
        return Summed(ins[0], dims)


class Spread(Primitive):
    """Broadcast to at least the names of another array, laid out as that is."""

    form, signature, keeps = "linear", "()->(n...)", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], target: Like) -> DimArray:
        (x,) = args
        if not x.names:
            raw = call(backends.backend_of(x.raw).broadcast_to, x.raw, target.full_shape)
            return make(raw, target.names, x.hidden)
        names, move = axes.spread_plan(x.names, target.names)
        sizes = dict(zip(target.names, target.full_shape, strict=True)) | dict(zip(x.names, x.full_shape, strict=True))
        raw = place(x.raw, move)
        raw = call(backends.backend_of(raw).broadcast_to, raw, tuple(sizes[n] for n in names))
        return make(raw, names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], target: Like) -> Map:
        return _Spread(ins[0].names, target)


class _Spread(Structural):
    __slots__ = ("own", "target")

    def __init__(self, own: Names, target: Like) -> None:
        self.own, self.target, self.mixes = own, target, ()

    def _push(self, t: DimArray) -> DimArray:
        return spread(t, self.target)

    def _pull(self, g: DimArray) -> DimArray:
        return fold(g, 1, self.own)


class Relabel(Primitive):
    """Rename axes, and mark names as vectorized or visible; the data stays as it is."""

    form, signature, keeps = "linear", "()->()", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], mapping: Mapping[Name, Name], hide: Names, show: Names) -> DimArray:
        (x,) = args
        names = axes.renamed(x.names, tuple(mapping.items())) if mapping else x.names
        if isinstance(x.hidden, ByName):
            return renamed(x, names, x.hidden.rename(mapping))
        hidden = x.hidden
        if mapping and hidden:
            hidden = frozenset(mapping.get(n, n) for n in hidden)
        return renamed(x, names, axes.without(hidden.union(hide), show) if hide or show else hidden)

    def linear(
        self, out: DimArray, ins: list[DimArray], need: list[bool], mapping: Mapping[Name, Name], hide: Names, show: Names
    ) -> Map:
        return Renaming({k: v for k, v in mapping.items() if k in ins[0].names and k != v})


class Renaming(Map):
    """The map of :class:`Relabel`: inside push and pull only the renaming is left of it."""

    __slots__ = ("mapping",)
    mapping: dict[Name, Name]
    multiplies = False

    def __init__(self, mapping: dict[Name, Name]) -> None:
        self.mapping = mapping

    def pull(self, g: DimArray) -> list[DimArray | None]:
        if not self.mapping:
            return [g]
        back = axes.invert(self.mapping)
        kept: Any = g.hidden
        met = {old: axes.aside_name(old) for old in self.mapping if old in kept.keep and old not in back}
        back |= met  # a kept axis of that name steps aside, also where only cotangents of other outputs have it
        out, how = relabel(g, back), kept.rename(back)
        return [out if out.hidden is how else stamp(out, how)]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        (t,) = ts
        return None if t is None else relabel(t, self.mapping)


class Cast(Primitive):
    """Another dtype; a complex array loses its imaginary part to a real dtype."""

    form, keeps = "linear", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], dtype: np.dtype[Any]) -> DimArray:
        (x,) = args
        raw = x.raw
        if not (backends.is_array(raw) or isinstance(raw, np.generic)):  # a number, which a program may leave open
            raw = call(backends.NUMPY.asarray, raw)
        return make(call(backends.backend_of(raw).cast, raw, dtype), x.names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], dtype: np.dtype[Any]) -> Map | None:
        home = ins[0].dtype
        if home.kind in "mM" and dtype.kind in "mM":
            if any(np.datetime_data(t)[0] in "YM" for t in (home, dtype)):  # months have no length
                return None
            ratio = ticks(home, dtype)
            return Structural(lambda t: multiply(t, ratio), lambda g: multiply(g, ratio))
        if dtype.kind not in "fcm":
            return None
        return Structural(lambda t: cast_back(t, dtype), lambda g: cast_back(g, home))


class Transfer(Primitive):
    """Another backend; the transpose moves the cotangent home."""

    form, keeps = "linear", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], backend: str) -> DimArray:
        return args[0].to(backend)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], backend: str) -> Map:
        home = ins[0].backend
        return Structural(lambda t: transfer(t, backend), lambda g: transfer(g, home))


_TRANSFER = Transfer("transfer")


def transfer(x: DimArray, backend: str) -> DimArray:
    """The same values on another backend."""
    return apply(_TRANSFER, (x,), backend=backend)


_TOTAL, _SPREAD, _RELABEL, _CAST = Total("total"), Spread("spread"), Relabel("relabel"), Cast("cast")
_ONLY = Total("total")
_ONLY.moves = 1


def total(x: DimArray, dims: Names) -> DimArray:
    """Sum over named axes, visible or hidden."""
    alone = type(x) is Length and all(extent(x, d) == 1 for d in dims)
    return apply(_ONLY if alone else _TOTAL, (x,), dims=tuple(dims)) if dims else x


def spread(x: DimArray, target: Like | DimArray) -> DimArray:
    """Broadcast to at least the names of ``target``."""
    if type(target) is not Like:
        target = like(target)  # type: ignore[arg-type]
    if x.names == target.names:
        return x
    return apply(_SPREAD, (x,), target=target)


def relabel(x: DimArray, mapping: Mapping[Name, Name], hide: Names = (), show: Names = ()) -> DimArray:
    """Rename and mark axes."""
    if not (mapping or hide or show):
        return x
    if x.level is None:
        return _RELABEL.lower((x,), mapping, hide, show)
    if type(x) is not Traced or x.value.level is not None or not x.level.fast:
        return apply(_RELABEL, (x,), mapping=dict(mapping), hide=hide, show=show)
    inner = _RELABEL.lower((x.value,), mapping, hide, show)  # apply, unrolled: by position every second step is a renaming
    renamed: DimArray = x.level.record(_RELABEL.linear(inner, [x.value], [True], mapping, hide, show), (x.node,), inner)
    return renamed


def cast(x: DimArray, dtype: Any) -> DimArray:
    """Another dtype."""
    return x if x.dtype == dtype else apply(_CAST, (x,), dtype=np.dtype(dtype))


def cast_back(g: DimArray, dtype: np.dtype[Any]) -> DimArray:
    """A tangent or cotangent in the dtype of its array; those of durations and dates are numbers, of ticks of the unit."""
    return g if dtype.kind in "mM" else cast(g, dtype)


def counted(x: DimArray) -> DimArray:
    """Durations and dates as numbers of ticks, NaN for NaT; others as they are."""
    return cast(x, np.float64) if x.dtype.kind in "mM" else x


def all_counted(name: str, out: DimArray, ins: Sequence[DimArray], need: Sequence[bool]) -> Sequence[DimArray]:
    """A result and its operands, with durations and dates in ticks of the result, or of the first operand.

    Raises
    ------
    TypeError
        If one that is being differentiated has another unit.
    """
    unit = (out if out.dtype.kind == "m" else ins[0]).dtype
    for x, n in zip(ins, need, strict=True):
        if n and x.dtype.kind in "mM" and np.datetime_data(x.dtype) != np.datetime_data(unit):
            raise TypeError(
                f"{name}: {unit} meets {x.dtype}, which is being differentiated, in another unit; "
                f"bring both to one unit first, as with x.astype({unit.name!r})"
            )
    return [multiply(counted(x), ticks(x.dtype, unit)) if x.dtype.kind in "mM" else x for x in (out, *ins)]


def ticks(of: np.dtype[Any], unit: np.dtype[Any]) -> DimArray:
    """How many ticks of one unit a tick of another is."""
    one, other = (np.ones((), f"m8{kind.str[3:]}") for kind in (of, unit))  # NaT alone has no unit
    return make(float(one / other) if of.str[3:] else 1.0, (), axes.NONE)


def stamp(x: DimArray, hidden: frozenset[Name]) -> DimArray:
    """The same array under another mark, at every level; nothing is recorded because marks have no derivative."""
    if x.level is None:
        return renamed(x, x.names, hidden)
    return Traced(stamp(x.value, hidden), x.level, x.node)


def constant_like(value: Any, x: DimArray, names: Names = ()) -> DimArray:
    """A raw value made an array on the backend of ``x``."""
    backend = backends.backend_of(innermost(x).raw)
    return make(call(backend.asarray, value), names, axes.NONE)


def positions(n: int, name: Name, x: DimArray) -> DimArray:
    """``0, 1, ..., n - 1`` along a name, made on the backend of ``x``."""
    return make(call(backends.backend_of(innermost(x).raw).arange, 0, n), (name,), axes.NONE)


def missing(x: DimArray | Like) -> DimArray:
    """What stands for a missing cell: NaN, and NaT among dates."""
    return make(np.array("NaT", x.dtype)[()] if x.dtype.kind in "mM" else math.nan, (), axes.NONE)


def zeros_spread(x: DimArray, target: Like, value: Any = 0) -> DimArray:
    """One value broadcast to ``target``, on the backend of ``x``; NaN is NaT among dates."""
    backend = home_of(innermost(x))
    if target.dtype.kind in "mM" and isinstance(value, float) and math.isnan(value):
        value = missing(target).raw
    dtype = np.result_type(target.dtype, value) if target.dtype.kind in "fc" else np.asarray(value).dtype
    return spread(make(call(backend.full, (), value, dtype), (), axes.NONE), target)


def alongside(v: DimArray, x: DimArray, dtype: Any = None) -> DimArray:
    """A number, also one that is differentiated, as an array on the device of ``x`` and of its dtype; others as they are.

    What spreads a number asks for this first: once it has axes its device and its dtype count.
    """
    if v.names:
        return v
    raw, home = innermost(v).raw, home_of(innermost(x))
    if backends.backend_of(raw) is not backends.NUMPY or (home is backends.NUMPY and not backends.is_number(raw)):
        return v
    target = Like((), (), x.dtype if dtype is None else dtype)
    if v.level is None and not backends.is_array(raw):
        return zeros_spread(x, target, raw)
    kind = target.dtype.type if target.dtype.kind in "fc" else np.bool_
    zero, yes = (zeros_spread(x, Like((), (), np.dtype(t)), t(n)) for t, n in ((kind, 0), (np.bool_, 1)))
    return where(yes, v, zero)


def make_like(zeros: DimArray, x: DimArray) -> DimArray:
    """Zeros under the mark of ``x``."""
    return make(zeros.raw, zeros.names, x.hidden)


def identity(n: int, row: Name, column: Name, x: DimArray, m: int | None = None, k: int = 0) -> DimArray:
    """Ones on the k-th diagonal, on the backend and with the dtype of ``x``."""
    backend = backends.backend_of(innermost(x).raw)
    return make(call(backend.eye, n, m or n, k, x.dtype), (row, column), axes.NONE)


def diagonalize(g: DimArray, name: Name) -> DimArray:
    """``g`` with its kept axis ``name`` doubled into a diagonal: one copy stays kept, the other may be summed."""
    how: Any = g.hidden
    slice_ = axes.slice_name(name)
    table = how.rename({name: slice_})
    return stamp(multiply(g, identity(extent(g, name), slice_, name, g)), table)


class GuardedContract(Contract):
    """Contraction of a cotangent with factors, in which 0 times a factor that is not finite is 0: a sum of ``scale``."""

    def __call__(self, x: DimArray, y: DimArray, over: Names) -> DimArray:
        return while_finite(super().__call__(x, y, over))

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], over: Names) -> Map:
        x, y = ins
        if not need[0] or known_finite(y):
            return super().linear(out, ins, need, over)
        others: list[DimArray | Weight] = [y, Weight(x)] if need[1] else [y]
        return ShieldedBilinear([like(a) for a, n in zip(ins, need, strict=True) if n], others, over, x)


class ShieldedBilinear(Bilinear):
    """In its first operand, ``x``, the factor of a cell that is 0 counts only if it is finite."""

    __slots__ = ("finite", "zero")

    def __init__(self, operands: list[Like], others: Sequence[DimArray | Weight], over: Names, x: DimArray) -> None:
        super().__init__(operands, others, over)
        y: Any = others[0]
        self.zero, self.finite = equal(x, _ZERO), select(isfinite(y), y)

    def pull(self, g: DimArray) -> list[DimArray | None]:
        g = self.apart(g)
        first, *rest = super().pull(g)
        x = self.operands[0]
        idle = spread(fold(g, self.finite, x.names, None if x.dtype == g.dtype else x.dtype), x)
        return [stamp(where(self.zero, idle, first), g.hidden), *rest]  # type: ignore[arg-type]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        t, *rest = ts
        if t is None:
            return super().push(ts)
        out = super().push([select(logical_not(self.zero), t), *rest])
        return add(guarded_contract(select(self.zero, t), self.finite, self.mixes), out)  # type: ignore[arg-type]


def while_finite(out: DimArray) -> DimArray:
    """A guarded result: outside of a gradient too a program may drop the guard only as long as this is finite."""
    backend = backends.backend_of(innermost(out).raw)
    if type(out.hidden) is axes.ByName or not (backends.is_recording() and backend.may_branch):
        return out
    return choose(out, out)


def known_finite(y: DimArray) -> bool:
    """Whether it may be looked at, and is finite."""
    return backends.known_finite(innermost(y).raw)


def known_true(mask: DimArray) -> bool:
    """Whether it may be looked at, and is true everywhere."""
    raw = innermost(mask).raw
    return backends.backend_of(raw).may_branch and not backends.is_recording() and bool(np.all(raw))


guarded_contract = GuardedContract("guarded_contract", weight=True, guard=True)
# fmt: off
isfinite    = elementwise("isfinite", None)
not_equal   = elementwise("not_equal", None, None)
not_nan     = elementwise("present", None)
_likely     = elementwise("likely", None)
_unless_seen = elementwise("unless_seen", None)
_wholly     = elementwise("wholly", None)
logical_not = elementwise("logical_not", None)
where       = elementwise("where", None, lambda o, c, x, y: mask(c), lambda o, c, x, y: mask(logical_not(c)))
# fmt: on


class Choose(Primitive):
    """What an unguarded pass gave, as long as it is finite, or what the guarded one gave: made for a recorder only."""

    form, signature, keeps = "linear", "(),()->()", "constants"

    def lower(self, args: Sequence[DimArray]) -> DimArray:
        fast, safe = args
        return make(call(backends.choose, fast.raw, safe.raw), fast.names, fast.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool]) -> Map:
        return Choice(need)


class Choice(Map):
    """An unguarded pass goes on along the unguarded way, a guarded one along the guarded way."""

    __slots__ = ("need",)

    def __init__(self, need: list[bool]) -> None:
        self.need = need

    def pull(self, g: DimArray) -> list[DimArray | None]:
        guard: bool = g.hidden.guard  # type: ignore[attr-defined]
        return [g if guard == safe else None for safe, n in zip((False, True), self.need, strict=True) if n]

    def push(self, ts: Sequence[DimArray | None]) -> DimArray | None:
        given = iter(ts)
        fast, safe = (next(given) if n else None for n in self.need)
        if fast is None or safe is None:
            t = safe if fast is None else fast
            if t is None:
                return None
            zero = spread(zeros_spread(t, Like((), (), t.dtype)), t)
            fast, safe = (zero, t) if fast is None else (t, zero)
        return choose(fast, safe)


_CHOOSE = Choose("choose")


def choose(fast: DimArray, safe: DimArray) -> DimArray:
    """Leave it to a recorder which of two ways to one result a program goes."""
    return apply(_CHOOSE, (fast, reorder(safe, fast.names)))


def reorder(x: DimArray, names: Names) -> DimArray:
    """The same array stored in another order of its axes, which has no derivative of its own: alignment is by name."""
    if x.names == names:
        return x
    if x.level is None:
        return _ORDER.lower((x,), names)
    if type(x) is not Traced or x.value.level is not None or not x.level.fast:
        return apply(_ORDER, (x,), names=names)
    return Traced(_ORDER.lower((x.value,), names), x.level, x.node)


class Order(Primitive):
    """Stored order."""

    form, keeps = "linear", "constants"
    moves = 1

    def lower(self, args: Sequence[DimArray], names: Names) -> DimArray:
        (x,) = args
        perm = axes.order_plan(x.names, names)
        return x if perm is None else make(call(backends.backend_of(x.raw).transpose, x.raw, perm), names, x.hidden)

    def linear(self, out: DimArray, ins: list[DimArray], need: list[bool], names: Names) -> Map:
        return Structural(_as_it_is, _as_it_is)


def _as_it_is(t: DimArray) -> DimArray:
    return t


_ORDER = Order("order")


def nonzero(x: DimArray) -> DimArray:
    """Where ``x`` is not 0."""
    return not_equal(x, _ZERO)


def likely(mask: DimArray, *, seen: bool = False) -> DimArray:
    """A mask that a program that is recorded takes for true everywhere until it is not.

    If it is ``seen`` that it is not, by gradients that are not finite, it need not be asked before.
    """
    if not backends.is_recording():
        return mask
    bet = _likely.one(mask)
    return _unless_seen.one(bet) if seen else bet


def if_likely(known: DimArray | bool, fast: Callable[[], DimArray], safe: Callable[[], DimArray]) -> DimArray:
    """What is ``fast`` if it is known to be right, and in a program until a mask shows that it is not; else ``safe``.

    Where a cell of the mask is true, cells of the result that meet it are right by the fast way; the safe way is right
    everywhere, so that a program which may not go the fast one does not go both.
    """
    if isinstance(known, bool):
        return fast() if known else safe()
    backend = backends.backend_of(innermost(known).raw)
    if backend.name == "text":  # what the reference shows
        return fast()
    may_bet = backends.is_recording() and backend.may_branch
    return where(_wholly.one(likely(known)), fast(), safe()) if may_bet else safe()


def either(mask: DimArray, x: DimArray, y: DimArray) -> DimArray:
    """One of two, with the names of the first in their order."""
    return reorder(where(mask, x, y), x.names)


ops.add, ops.neg, ops.mul, ops.weigh, ops.scale, ops.select = (
    add.two, negative.one, multiply.two, weighed, scaled, select.two,
)  # fmt: skip
ops.weighed_contract, ops.outweighed = weighed_contract, outweighed
ops.total, ops.spread, ops.relabel, ops.stamp = total, spread, relabel, stamp
ops.cast, ops.counted = cast_back, all_counted
ops.guarded_contract, ops.diagonalize = guarded_contract, diagonalize
ops.transfer, ops.nonzero, ops.likely, ops.either = transfer, nonzero, likely, either

__all__ = [
    "AxisError", "Elementwise", "add", "cast", "constant_like", "contract", "diagonalize", "equal", "identity",
    "isfinite", "logical_not", "mask", "multiply", "negative", "not_equal", "relabel", "reorder", "scale", "select",
    "shield", "spread", "stamp", "subtract", "total", "where",
]
