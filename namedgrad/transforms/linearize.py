"""``linearize`` and the public :class:`LinearMap`: the derivative at a point as an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from namedgrad.array import make
from namedgrad.axes import NONE, AxisError
from namedgrad.transforms.grad import Call, Output, pulled, tangent_parts
from namedgrad.transforms.jacobian import assembled, block_rows, run_for_passes
from namedgrad.transforms.tape import Tape

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


class LinearMap:
    """The derivative of a function at a point.

    ``L(t)`` or ``L @ t`` pushes a tangent forward, ``L.T(c)`` pulls a cotangent back, ``L @ M`` composes two maps,
    ``L.dense()`` is the Jacobian, ``L.to_scipy()`` a :class:`scipy.sparse.linalg.LinearOperator` over flattened arrays.

    ``L.T`` is the adjoint for the real inner product: Re<conj(c), L t> = Re<conj(L.T c), t>, per slice of the
    vectorized axes of the output, summed over all else.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> y, L = ng.linearize(lambda x: x * x, x)
    >>> L(x).data, L.T(x).data
    (array([2., 8.]), array([2., 8.]))
    """

    def __init__(self, forward: Side, backward: Side, recorded: Recorded | None = None) -> None:
        self._forward, self._backward, self._recorded = forward, backward, recorded

    def __repr__(self) -> str:
        return f"<LinearMap of {self._forward.arity} argument{'s' * (self._forward.arity != 1)}>"

    def __call__(self, *tangents: Any) -> Any:
        """The image of a tangent, one per argument."""
        return self._forward.run(*tangents)

    @property
    def T(self) -> LinearMap:
        """The adjoint map."""
        return LinearMap(self._backward, self._forward)

    def __matmul__(self, other: Any) -> Any:
        """Composition, ``(L @ M)(t)`` is ``L(M(t))``; of a tangent (of several, as a tuple) the image, as in SciPy."""
        if not isinstance(other, LinearMap):
            return self(*other) if self._forward.arity != 1 else self(other)
        return LinearMap(other._forward.then(self._forward), self._backward.then(other._backward))

    def dense(self, suffix: str = "_wrt") -> Any:
        """The Jacobian as named arrays, input dims under the suffix."""
        return self._record().dense(suffix)

    def to_scipy(self) -> LinearOperator:
        """A linear operator on flat vectors, inputs and outputs in the order of their leaves.

        Raises
        ------
        AxisError
            If an input or output has vectorized axes: a flat vector cannot say which slice is meant.
        """
        return self._record().to_scipy()

    def _record(self) -> Recorded:
        """The record; that of an adjoint or composition is made by linearizing it, which it equals."""
        if self._recorded is None:
            self._recorded = linearize(self._forward.run, *self._forward.zeros())[1]._recorded
        return self._recorded  # type: ignore[return-value]


class Side(NamedTuple):
    """One direction of a linear map."""

    run: Callable[..., Any]
    zeros: Callable[[], tuple[Any, ...]]  #: the zero of the space that it starts from, one per argument
    arity: int  #: the number of arguments

    def then(self, other: Side) -> Side:
        """First this, then the other; several results are several arguments."""

        def run(*t: Any) -> Any:
            out = self.run(*t)
            return other.run(*out) if other.arity != 1 else other.run(out)

        return Side(run, self.zeros, self.arity)


class Recorded:
    """What ``linearize`` recorded, for dense and flat forms."""

    def __init__(self, call: Call, out: Output, tape: Tape) -> None:
        self.call, self.out, self.tape = call, out, tape

    def map(self) -> LinearMap:
        """As users see it."""
        ins, outs = self.tape.ins, self.tape.out_like
        there = Side(self.push, lambda: self.call.results([x.zeros({}) for x in ins]), len(self.call.trees))
        back = Side(self.pull, lambda: (self.out.result([o.zeros({}) for o in outs]),), 1)
        return LinearMap(there, back, self)

    def push(self, *tangents: Any) -> Any:
        """Tangents in, tangent of the output out."""
        return self.out.result(self.tape.push(tangent_parts(self.call, tangents)))

    def pull(self, cotangent: Any) -> Any:
        """Cotangent in, one gradient per argument out."""
        return pulled(self.call, self.out, self.tape, cotangent)

    def dense(self, suffix: str) -> Any:
        """The Jacobian; of complex inputs only if the map is linear over the complex numbers."""
        if any(x.dtype.kind == "c" for x in self.tape.ins):
            self._require_complex_linear()
        blocks = assembled(self.out, self.call, block_rows(self.tape, "auto", suffix, None))
        single = len(self.call.trees) == 1 and len(self.out.tree.leaves) == 1
        return blocks[0] if single and isinstance(blocks, tuple) else blocks

    def _require_complex_linear(self) -> None:
        """Raise unless a random direction times 1j has 1j times its image."""
        rng = np.random.default_rng(0)
        t = [make(np.asarray(rng.normal(size=x.full_shape), x.dtype), x.names, x.hidden) for x in self.tape.ins]
        if all(x.dtype.kind == "c" for x in self.tape.ins):
            pairs = zip(self.tape.push(t), self.tape.push([x * 1j for x in t]), strict=True)
            if all(np.allclose(turned.to_numpy(), 1j * image.to_numpy(), rtol=1e-4) for image, turned in pairs):
                return
        raise TypeError(
            "dense() of a map that is not linear over the complex numbers (conj, real, abs ... of complex input) "
            "is not defined; split the input into real and imaginary parts: f(lambda re, im: g(re + 1j * im))"
        )

    def to_scipy(self) -> LinearOperator:
        """The flat operator."""
        from scipy.sparse.linalg import LinearOperator

        tape = self.tape
        for a in (*tape.ins, *tape.out_like):
            if a.hidden:
                raise AxisError(
                    f"to_scipy: vectorized axes {tuple(a.hidden)} have no place in a flat operator; devectorize them"
                )
        dtype = np.result_type(*(a.dtype for a in (*tape.ins, *tape.out_like)))
        return LinearOperator(
            shape=(_length(tape.out_like), _length(tape.ins)),
            dtype=dtype,
            matvec=lambda v: _join(tape.push(_cut(v, tape.ins)), tape.out_like, dtype),
            rmatvec=lambda v: _join(tape.pull(_cut(v, tape.out_like)), tape.ins, dtype),
        )


def _length(arrays: Any) -> int:
    return sum(int(np.prod(a.full_shape, dtype=int)) for a in arrays)


def _cut(vector: Any, arrays: Any) -> list[Any]:
    vector = np.asarray(vector).reshape(-1)
    out, at = [], 0
    for a in arrays:
        n = _length([a])
        piece = vector[at : at + n].reshape(a.full_shape)
        out.append(make(piece.astype(a.dtype) if a.dtype.kind == "c" else piece.real.astype(a.dtype), a.names, NONE))
        at += n
    return out


def _join(parts: Any, arrays: Any, dtype: Any) -> Any:
    return (
        np.concatenate([np.asarray(p.to_numpy(), dtype).reshape(-1) for p in parts]) if arrays else np.zeros(0, dtype)
    )


def linearize(f: Callable[..., Any], *args: Any) -> tuple[Any, LinearMap]:
    """``f(*args)`` and its derivative there as a :class:`LinearMap`.

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
    L : LinearMap
        Pushes and pulls as often as asked, without running ``f`` again.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> y, L = ng.linearize(lambda x: x * x, x)
    >>> L.dense().data
    array([[2., 0.],
           [0., 4.]])
    """
    call = Call(f, tuple(range(len(args))), (), args, {})
    out, tape = run_for_passes(call, borrow=True)
    recorded = Recorded(call, out, tape)
    return out.value(tape.values(out.tree.leaves)), recorded.map()
