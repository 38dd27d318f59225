"""Gradients: ``grad``, ``value_and_grad``, and the pullback and pushforward that they are made of."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from namedgrad.array import DimArray, constant, describe
from namedgrad.axes import Axis, AxisError, Names
from namedgrad.transforms.calls import run
from namedgrad.transforms.captured import refuse_captured
from namedgrad.transforms.leaves import Tree, adapter_of, flatten, over_names, runs, unflatten, vectorize_tree
from namedgrad.transforms.tape import Tape, check_cotangent, ones_like_output, record, record_forward

# ------------------------------------------------------------------------------------------------ arguments


class Part(NamedTuple):
    """What to differentiate, as one of the entries of ``wrt``: a single entry of an argument, or several."""

    argument: int | str
    entries: Any  #: a name, a list of names, or None: the whole argument

    def __repr__(self) -> str:
        return repr(self.entries)


class Call:
    """A call of ``f`` with the arguments in ``wrt`` taken apart."""

    def __init__(
        self, f: Callable[..., Any], wrt: Any, over: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.f, self.several = f, isinstance(wrt, (list, tuple, range)) and not _is_part(wrt)
        self.keys = [self._key(w, args, kwargs) for w in (wrt if self.several else (wrt,))]
        if self.several:
            self._refuse_twice(wrt, args, kwargs)
        self.original = [self._get(k, args, kwargs) for k in self.keys]
        self.over: Names = over_names(over, (args, kwargs))
        if self.over:
            refuse_captured(f, self.over)
            args, kwargs = vectorize_tree((args, kwargs), self.over)
        self.args, self.kwargs = args, kwargs
        self.trees = [Tree(self._get(k, args, kwargs)) for k in self.keys]
        for w, tree in zip(wrt if self.several else (wrt,), self.trees, strict=True):
            tree.require_parts(f"wrt={w!r}")
        self.parts = [p for tree in self.trees for p in tree.parts]

    def _key(self, w: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        inner = None
        if isinstance(w, tuple):
            w, inner = w
        if isinstance(w, str) and w not in kwargs:
            names = list(inspect.signature(self.f).parameters)
            if w not in names or names.index(w) >= len(args):
                raise TypeError(f"wrt={w!r} is not an argument of this call; its parameters are {names}")
            w = names.index(w)
        if not isinstance(w, str):
            w = _position(w)
            if not -len(args) <= w < len(args):
                raise TypeError(f"wrt={w} is out of range: f was called with {len(args)} positional arguments")
            w %= len(args)
        return w, inner

    def _get(self, key: tuple[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        value = args[key[0]] if isinstance(key[0], int) else kwargs[key[0]]
        return value if key[1] is None else adapter_of(value).pick(value, key[1])

    def _refuse_twice(self, wrt: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An argument has one gradient; ``("ds", ["a"])`` and ``("ds", ["b"])`` are parts that do not overlap."""
        for i, (key, inner) in enumerate(self.keys):
            whole = self._get((key, None), args, kwargs)
            for other, also in self.keys[:i]:
                if key == other and adapter_of(whole).overlap(whole, inner, also):
                    raise TypeError(f"wrt={wrt!r} names one argument more than once; name each once")

    def run(self, parts: Sequence[DimArray]) -> Any:
        """Call ``f`` with other parts."""
        args: dict[Any, Any] = {**dict(enumerate(self.args)), **self.kwargs}
        pieces = []
        for (key, inner), tree, own in zip(self.keys, self.trees, self._per_tree(parts), strict=True):
            value = tree.rebuild(own)
            if inner is None:
                args[key] = value
            else:
                pieces.append((key, inner, value))
        for key, inner, value in pieces:
            args[key] = adapter_of(args[key]).merge(args[key], value, inner)
        return run(self.f, *(args[i] for i in range(len(self.args))), **{k: args[k] for k in self.kwargs})

    def _per_tree(self, parts: Sequence[DimArray]) -> list[list[DimArray]]:
        return runs(parts, [len(tree.parts) for tree in self.trees])

    def results(self, parts: Sequence[DimArray], of: Output | None = None) -> Any:
        """Gradients (``of`` an output) in the structure of ``wrt``, with ``over`` dims visible again."""
        out = []
        for tree, original, own in zip(self.trees, self.original, self._per_tree(parts), strict=True):
            value = tree.result(own)
            if of is not None:
                value = tree.annotate(value, of.tree, self.f)
            out.append(restore_tree(original, value, self.over))
        return tuple(out) if self.several else out[0]


def _is_part(wrt: Sequence[Any]) -> bool:
    """``("ds", ["a", "b"])`` names entries of one argument."""
    if isinstance(wrt, Part):
        return True
    return len(wrt) == 2 and isinstance(wrt, tuple) and isinstance(wrt[0], (int, str)) and isinstance(wrt[1], list)


def _position(w: Any) -> int:
    try:
        return operator.index(w)
    except TypeError:
        raise TypeError(f"wrt={w!r} is neither the position nor the name of an argument, nor a list of them") from None


def restore_tree(original: Any, result: Any, over: Names) -> Any:
    """``over`` dims visible again, leaf by leaf."""
    if not over:
        return result
    old, _ = flatten(original)
    new, treedef = flatten(result)
    pairs = zip(old, new, strict=True) if len(old) == len(new) else ((None, x) for x in new)
    return unflatten(treedef, [adapter_of(x).restore(o, x, over) for o, x in pairs])


# ------------------------------------------------------------------------------------------------ outputs


class Output:
    """What a function returned, taken apart; leaves that hold no number stay as they are."""

    def __init__(self, value: Any) -> None:
        self.tree = Tree(value)
        self.parts = self.tree.parts

    def value(self, parts: Sequence[DimArray]) -> Any:
        """What was returned, with these values."""
        return self.tree.value(parts)

    def result(self, parts: Sequence[DimArray]) -> Any:
        """A derivative of what was returned."""
        return self.tree.result(parts)


def run_recorded(call: Call, *, has_aux: bool = False, borrow: bool = False) -> tuple[Output, Any, Tape]:
    """Record ``f``; also its auxiliary output."""
    kept: list[Any] = []

    def function(parts: list[DimArray]) -> Sequence[DimArray]:
        value = call.run(parts)
        aux = None
        if has_aux:
            if not isinstance(value, tuple) or len(value) != 2:
                raise TypeError(f"has_aux=True needs a function that returns (output, aux), got {type(value).__name__}")
            value, aux = value
        out = Output(value)
        kept.append(out)
        if not has_aux:
            return out.parts
        extra = Output(aux)
        kept.append(extra)
        return (*out.parts, *extra.parts)

    tape = record(function, call.parts, borrow=borrow)
    out = kept[0]
    if not has_aux:
        return out, None, tape
    n = len(out.parts)
    aux = kept[1].value(tape.outs[n:])
    tape.ends, tape.outs, tape.out_like = tape.ends[:n], tape.outs[:n], tape.out_like[:n]
    return out, aux, tape


def require_scalar(out: Output, tape: Tape) -> None:
    """Raise unless the output is one real array without visible dims."""
    if len(tape.outs) != 1 or len(out.tree.leaves) != 1:
        leaves = [adapter.describe(leaf) for adapter, leaf in zip(out.tree.adapters, out.tree.leaves, strict=True)]
        raise TypeError(
            f"grad needs a single floating-point output, got {len(tape.outs)} in {', '.join(leaves) or 'nothing'}; "
            "use has_aux=True for extras, or ng.pullback for several outputs"
        )
    (y,) = tape.outs
    if y.dtype.kind == "c":
        raise TypeError("grad of a complex output is not defined; take .real, .imag or abs, or use ng.pullback")
    if y.dims:
        raise AxisError(
            f"grad needs an output without dims, got {describe(y)}: reduce {y.dims} (for example .sum() or .mean()), "
            f"or hide them with .vectorize(...) or over=... to get one gradient per slice"
        )


# ------------------------------------------------------------------------------------------------ public


def value_and_grad(f: Callable[..., Any], wrt: Any = 0, *, over: Any = (), has_aux: bool = False) -> Callable[..., Any]:
    """Function that returns ``(f(x), gradient)``.

    Parameters
    ----------
    f : callable
        A function of DimArrays, xarray objects, NumPy or CuPy arrays, floats, and nested dicts, lists, tuples and
        dataclasses of them. It gets what it is given, traced. It returns an array without visible dims (vectorized axes
        are allowed).
    wrt : int, str or sequence of them
        The arguments to differentiate: positions or names; ``("ds", ["a", "b"])`` for two variables of the argument
        ``ds``.
    over : name or names
        Dims to treat as independent slices: hidden on the way in, visible again on the way out.
    has_aux : bool
        ``f`` returns ``(output, anything)``; the value is then ``(output, anything)`` as well.

    Returns
    -------
    callable
        Gradients are like the inputs (dims and their order, coords, name, attrs, dtype), with the vectorized axes of
        the output in front; a tuple of them where ``wrt`` is a sequence.

    Raises
    ------
    AxisError
        If the output has visible dims, or slices of a vectorized axis were mixed and met again.
    TypeError
        If an argument in ``wrt`` is not floating-point, or the output is complex.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> value, g = ng.value_and_grad(lambda x: (x * x).sum())(x)
    >>> value.item(), g.data
    (5.0, array([2., 4.]))
    """

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = Call(f, wrt, over, args, kwargs)
        out, aux, tape = run_recorded(call, has_aux=has_aux)
        require_scalar(out, tape)
        gradient = call.results(tape.pull([ones_like_output(tape.outs[0])], last=True), out)
        value = restore_tree(None, out.value(tape.outs), call.over)
        aux = restore_tree(None, aux, call.over)
        return ((value, aux) if has_aux else value), gradient

    return wrapped


def grad(f: Callable[..., Any], wrt: Any = 0, *, over: Any = (), has_aux: bool = False) -> Callable[..., Any]:
    """Function that returns the gradient of ``f``.

    Parameters
    ----------
    f, wrt, over, has_aux
        As for :func:`value_and_grad`.

    Returns
    -------
    callable
        With ``has_aux`` it returns ``(gradient, aux)``.

    Raises
    ------
    AxisError, TypeError
        As for :func:`value_and_grad`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> w, x = ng.DimArray([1.0, 2.0], ("f",)), ng.DimArray([[1.0, 0.0], [3.0, 5.0]], ("b", "f"))
    >>> ng.grad(lambda w, x: (w * x).sum())(w, x.vectorize("b"))  # one gradient per slice
    <DimArray (f: 2) vectorized (b: 2) float64>
    array([[1., 0.],
           [3., 5.]])
    """
    both = value_and_grad(f, wrt, over=over, has_aux=has_aux)

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def pullback(f: Callable[..., Any], *args: Any) -> tuple[Any, Callable[..., Any]]:
    """``f(*args)`` and its pullback there.

    Parameters
    ----------
    f : callable
        A function of DimArrays, xarray objects, NumPy or CuPy arrays, floats, and nested dicts, lists, tuples and
        dataclasses of them. It gets what it is given, traced.
    *args
        All of them are differentiated, and floating-point.

    Returns
    -------
    out
        ``f(*args)``.
    pull : callable
        ``pull(cotangent)`` gives one gradient per argument, as often as asked. The cotangent has the structure of the
        output and is aligned by name: vectorized axes that it lacks are broadcast, ones that it adds give one gradient
        each.

    Raises
    ------
    AxisError
        By ``pull``: if the cotangent has visible dims that the output lacks, or lacks some of its dims.
    TypeError
        If an argument is not floating-point.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> y, pull = ng.pullback(lambda x: x * x, x)
    >>> pull(ng.DimArray([1.0, 10.0], ("x",))).data
    array([ 2., 40.])
    """
    call = Call(f, tuple(range(len(args))), (), args, {})
    out, _, tape = run_recorded(call, borrow=True)

    return out.value(tape.values(out.tree.leaves)), functools.partial(pulled, call, out, tape)


def pulled(call: Call, out: Output, tape: Tape, cotangent: Any) -> Any:
    """One gradient per argument of a cotangent of the output; that of the only one alone."""
    seeds = read_like(out.tree, cotangent, tape.out_like, "cotangent")
    extra = {n for s in seeds if s is not None for n in s.hidden}
    grads = call.results(tape.pull(seeds, extra), out)
    return grads if len(call.trees) != 1 else grads[0]


def read_like(tree: Tree, value: Any, likes: Sequence[Any], what: str) -> list[DimArray | None]:
    """A cotangent or tangent taken apart along the structure of what it belongs to."""
    try:
        leaves = tree.treedef.flatten_up_to(value)
    except (ValueError, TypeError):
        raise TypeError(
            f"the {what} is a {type(value).__name__}, "
            f"but must have the structure {tree.treedef} of what it belongs to"
        ) from None
    parts: list[DimArray | None] = []
    for adapter, belonging, given, n in zip(tree.adapters, tree.leaves, leaves, tree.counts, strict=True):
        leaf = given if given is None or not n else adapter.along(belonging, given, what)
        own = _parts_of(leaf, n, what)
        belongs = likes[len(parts) : len(parts) + n]
        parts.extend([constant(leaf, f"the {what}") if _lost_names(p, o) else p for p, o in zip(own, belongs)])
    return [None if p is None else check_cotangent(p, o, what) for p, o in zip(parts, likes, strict=True)]


def _lost_names(p: DimArray | None, o: Any) -> bool:
    """Whether a plain array is given for one with names."""
    if p is None or p.names == o.names:
        return False
    return any(isinstance(n, Axis) and n not in o.names for n in p.names) and bool(o.names)


def _parts_of(leaf: Any, count: int, what: str) -> list[DimArray | None]:
    if leaf is None or not count:
        return [None] * count
    kind = getattr(getattr(leaf, "dtype", None), "kind", None)
    if isinstance(leaf, int) or kind in ("b", "i", "u"):
        leaf = leaf.astype(float) if kind else float(leaf)
    parts = adapter_of(leaf).parts(leaf)
    return list(parts) if len(parts) == count else [constant(leaf, what)]


def pushforward(f: Callable[..., Any], args: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """``f(*args)`` and its directional derivative along ``tangents``, in one forward pass.

    Parameters
    ----------
    f : callable
        A function of DimArrays, xarray objects, NumPy or CuPy arrays, floats, and nested dicts, lists, tuples and
        dataclasses of them. It gets what it is given, traced.
    args : tuple
    tangents : tuple
        One per argument, of its structure; None for zero. Vectorized axes that a tangent adds give one derivative each.

    Returns
    -------
    out
        ``f(*args)``.
    tangent
        Like ``out``.

    Raises
    ------
    AxisError
        If a tangent has visible dims that its argument lacks.
    TypeError
        If the counts differ, or an argument is not floating-point.

    Notes
    -----
    ``f`` runs once; twice where it meets vectors of eigenvalues, or singular values, that coincide.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, t = ng.DimArray([1.0, 2.0], ("x",)), ng.DimArray([1.0, 0.5], ("x",))
    >>> y, dy = ng.pushforward(lambda x: x * x, (x,), (t,))
    >>> dy.data
    array([2., 2.])
    """
    for what, given in (("args", args), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"pushforward: {what} is a {type(given).__name__}; give a tuple, one per argument of f")
    call = Call(f, tuple(range(len(args))), (), tuple(args), {})
    ts = tangent_parts(call, tangents)
    kept: list[Output] = []

    def function(parts: list[DimArray]) -> Sequence[DimArray]:
        kept[:] = [Output(call.run(parts))]
        return kept[0].parts

    values, pushed = record_forward(function, call.parts, ts)
    return kept[0].value(values), kept[0].result(pushed)


def tangent_parts(call: Call, tangents: Sequence[Any]) -> list[DimArray | None]:
    """Tangents taken apart along the structure of the arguments."""
    if len(call.trees) != len(tangents):
        raise TypeError(f"{len(call.trees)} arguments but {len(tangents)} tangents; give one (or None) per argument")
    ts: list[DimArray | None] = []
    for tree, t in zip(call.trees, tangents, strict=True):
        ts += [None] * len(tree.parts) if t is None else read_like(tree, t, tree.parts, "tangent")
    return ts


vjp = pullback
jvp = pushforward
