"""How a distribution draws: which dims, which generator, and how a public function is made of its formula."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, TraceError, constant, make
from namedgrad.axes import NONE, AxisError, Name, Names
from namedgrad.backends.rewind import about_to_draw
from namedgrad.linear import Like
from namedgrad.ops import dispatch
from namedgrad.primitive import Operation
from namedgrad.primitive.registry import check_sizes
from namedgrad.rules.elementwise import minimum
from namedgrad.rules.structure import cast, reorder, spread
from namedgrad.trace import innermost

_SIZES = """sizes : mapping of name to size, optional
    More dims of the result: independent draws along them.
"""
_RNG = """rng : numpy.random.Generator or int
    Where the draws come from, or a seed; for CuPy arrays a ``cupy.random.Generator`` or a seed."""

_RESULT = """
Returns
-------
DimArray
    With the dims of the parameters, in order of first appearance, then ``sizes``.

Raises
------
AxisError
    If sizes differ, or a dim of ``sizes`` is a vectorized axis of a parameter.
TraceError
    Inside :func:`namedgrad.compile`: draw outside and pass the draws.
"""


class Draws:
    """Where the draws of one call go and where they come from.

    The dims of the parameters are put in an order of their own, that of their names, so that the order in which an
    array is stored changes no draw; ``sizes`` follow in the order of the call.
    """

    def __init__(
        self, what: str, parameters: tuple[DimArray, ...], sizes: Mapping[Any, int] | None, rng: Any, *,
        without: Names = (), extra: Mapping[Name, int] | None = None,
    ) -> None:
        if backends.is_recording():
            raise TraceError(
                f"random.{what} inside ng.compile would draw once and repeat that in every call; "
                "draw outside and pass the draws as an argument"
            )
        table = check_sizes(f"random.{what}", parameters)
        hidden = axes.merge_hidden(tuple(p.names for p in parameters), tuple(p.hidden for p in parameters))
        more = _checked(what, sizes, table, hidden)
        own = [n for n in table if n not in without]
        self.order: Names = (*axes.in_order(own), *(n for n in more if n not in table))
        table |= {n: s for n, s in more.items() if n not in table} | dict(extra or {})
        seen = sorted(own, key=_key) + [n for n in self.order if n not in own] + list(extra or {})
        self.names: Names = tuple(seen)
        self.shape = tuple(table[n] for n in seen)
        self.hidden: Any = hidden
        dtypes = [p.dtype for p in map(innermost, parameters) if not backends.is_number(p.raw)]
        kinds = [d if d.kind == "f" else np.dtype(float) for d in dtypes if d.kind != "b"]
        self.dtype: np.dtype[Any] = np.result_type(*kinds) if kinds else np.dtype(float)
        self.backend, self.rng = _generator(what, rng, [innermost(p).raw for p in parameters])
        about_to_draw(self.rng)

    def __call__(self, method: str, *parameters: DimArray, whole: bool = False) -> DimArray:
        """Draws by a method of the generator, untraced; whole numbers, or of the dtype of the parameters."""
        target = Like(self.names, self.shape, self.dtype)
        wide = [spread(innermost(p), target).raw if p.names else innermost(p).raw for p in parameters]
        raw = backends.call(self.backend.draw, *wide, rng=self.rng, method=method, shape=self.shape)
        out = make(raw, self.names, self.hidden)
        if whole:
            return out
        out = cast(out, self.dtype)  # which may round to 1 what is below it
        below = method == "random" and self.dtype.itemsize < np.dtype(float).itemsize
        return minimum(out, scalar(1 - float(np.finfo(self.dtype).epsneg))) if below else out

    def finish(self, x: DimArray) -> DimArray:
        """The result, its dims in the promised order; what is computed of numbers alone adds no precision."""
        x = cast(x, self.dtype) if x.dtype.kind == "f" else x
        order = (*(n for n in self.order if n in x.names), *(n for n in x.names if n not in self.order))
        return reorder(x, order)


def _key(name: Name) -> tuple[str, Any]:
    return ("", name.number) if isinstance(name, axes.Axis) else (type(name).__name__, str(name))


def _checked(what: str, sizes: Any, table: Mapping[Name, int], hidden: Any) -> dict[Name, int]:
    if sizes is None:
        return {}
    if not isinstance(sizes, Mapping):
        raise TypeError(f"random.{what}: sizes={sizes!r} is no mapping of names to sizes, such as {{'time': 10}}")
    axes.check_names(n for n in sizes if not isinstance(n, axes.Axis))
    for name, size in sizes.items():
        if name in hidden:
            raise AxisError(
                f"random.{what}: {name!r} in sizes is a vectorized axis of a parameter, hidden from every operation; "
                f"draws are independent along it anyway, so leave it out"
            )
        if table.get(name, size) != size:
            raise AxisError(f"random.{what}: sizes asks for {name}: {size}, but a parameter has {name}: {table[name]}")
    return dict(sizes)


def _generator(what: str, rng: Any, raws: list[Any]) -> tuple[Any, Any]:
    """The backend that draws, and its generator."""
    backend = backends.backend_of(*raws)
    if rng is None or isinstance(rng, bool):
        raise TypeError(
            f"random.{what} needs rng=: a numpy.random.Generator such as np.random.default_rng(0), or an int seed; "
            "there is no global state"
        )
    if isinstance(rng, (int, np.integer, np.random.SeedSequence)):
        return backend, backend.generator(rng)
    if isinstance(rng, np.random.RandomState) or not hasattr(rng, "standard_normal"):
        raise TypeError(f"random.{what}: rng is a {type(rng).__qualname__}, not a numpy.random.Generator or an int seed")
    place = "cupy" if not isinstance(rng, np.random.Generator) and "cupy" in type(rng).__module__ else "numpy"
    if place == "cupy" and backend is backends.NUMPY and not any(map(backends.is_array, raws)):
        return backends.get_backend("cupy"), rng
    if (place == "cupy") != (backend.name == "cupy"):
        raise TypeError(
            f"random.{what}: the generator is of {place}, the parameters are {backend.name} arrays; "
            f"give a generator of the same device, or an int seed"
        )
    return backend, rng


# ------------------------------------------------------------------------------------------------ public functions


def distribution(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a formula a public function of every kind of array, with the common part of its documentation."""
    signature = inspect.signature(function)
    op = Operation(f"random.{function.__name__}", function, "random", (), method=False, differentiable=True)

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.arguments.get("sizes"):  # the result has names, so numbers that are differentiated are named arrays
            for name, value in bound.arguments.items():
                if getattr(value, "nameless", None) is not None:
                    bound.arguments[name] = constant(value)
        return dispatch(op, bound.args, bound.kwargs)

    text = inspect.cleandoc(function.__doc__ or "")
    head, mark, tail = text.partition("\nNotes\n" if "\nNotes\n" in text else "\nExamples\n")
    if "\nReturns\n" in head:
        head, own, returns = head.partition("\nReturns\n")
        result = own + returns.strip() + "\n" + _RESULT[_RESULT.index("\nRaises") :]
    else:
        result = _RESULT
    section = "" if "\nParameters\n" in head else "\n\nParameters\n----------"
    common = (_SIZES if "sizes" in signature.parameters else "") + _RNG
    public.__doc__ = head.rstrip() + section + "\n" + common + "\n" + result + mark + tail
    public.__module__ = "namedgrad.random"
    return public


def operands(*values: Any) -> tuple[DimArray, ...]:
    """Parameters as arrays of floats."""
    return tuple(_float(constant(v, "a parameter")) for v in values)


def _float(x: DimArray) -> DimArray:
    if x.dtype.kind == "f":
        return x
    if x.dtype.kind == "c":
        raise TypeError("parameters of distributions are real; this one is complex")
    return make(float(x.raw), (), NONE) if x.level is None and backends.is_number(x.raw) else cast(x, float)


def check_positive(what: str, *, zero: bool = True, **parameters: DimArray) -> None:
    """Refuse a negative scale where values may be looked at; elsewhere the draws are NaN or mirrored."""
    for name, p in parameters.items():
        raw = innermost(p).raw
        if backends.may_look(raw) and bool(np.any(np.less(raw, 0) if zero else np.less_equal(raw, 0))):
            raise ValueError(f"random.{what}: {name} must not be {'negative' if zero else 'negative or zero'}")


def scalar(value: Any) -> DimArray:
    """A number as an operand."""
    return make(value, (), NONE)
