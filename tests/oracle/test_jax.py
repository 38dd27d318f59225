"""JAX: values, gradients, one gradient per slice, Hessian times vector, on randomly drawn cases."""

# ruff: noqa: B008

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import namedgrad as ng

jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX takes it by place
pytestmark = pytest.mark.filterwarnings("ignore")
COUNT = 2  # draws of each case


class Case(NamedTuple):
    """One function in both libraries, and how its arguments are drawn."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    domains: tuple[str, ...]


DOMAINS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "real": lambda rng, shape: rng.normal(size=shape),
    "positive": lambda rng, shape: rng.uniform(0.1, 3, shape),
    "large": lambda rng, shape: rng.normal(size=shape) * 30,
    "unit": lambda rng, shape: rng.uniform(-0.95, 0.95, shape),
    "share": lambda rng, shape: rng.uniform(0.02, 0.98, shape),
    "above_one": lambda rng, shape: 1 + rng.exponential(size=shape),
    "spd": lambda rng, shape: _spd(rng, shape),
    "matrix": lambda rng, shape: rng.normal(size=(*shape[:-2], shape[-1], shape[-1])) + 3 * np.eye(shape[-1]),
}


def _spd(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    a = rng.normal(size=(*shape[:-2], shape[-1], shape[-1]))
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def _jax(path: str) -> Callable[..., Any]:
    place: Any = jax
    for part in path.split("."):
        place = getattr(place, part)
    return place


ELEMENTWISE = {
    "exp exp2 expm1 sin cos tanh sinh cosh arctan arcsinh square sinc absolute": "real",
    "log log2 log10 log1p sqrt cbrt reciprocal": "positive",
    "arcsin arccos arctanh tan": "unit",
    "arccosh": "above_one",
}
SPECIAL = {
    "expi": "positive", "erf erfc ndtr log_ndtr expit i0 i0e i1 i1e": "real", "gammaln digamma entr": "positive", "logit ndtri": "share", "erfinv": "unit",
}  # fmt: skip
PAIRS = {
    "add subtract multiply divide hypot arctan2 maximum minimum logaddexp logaddexp2 copysign": ("real", "positive"), "power": ("positive", "real"),
}  # fmt: skip
SPECIAL_PAIRS = {"xlogy xlog1py betaln rel_entr gammainc gammaincc": ("positive", "positive")}
ACTIVATIONS = "relu relu6 elu celu selu softplus soft_sign silu gelu hard_tanh hard_sigmoid hard_swish leaky_relu log_sigmoid mish sigmoid"
OURS_OF = {"soft_sign": "softsign", "hard_tanh": "hardtanh", "hard_sigmoid": "hardsigmoid", "hard_swish": "hardswish"}
# fmt: off
CASES: dict[str, Case] = {
    **{n: Case(getattr(np, n), getattr(jnp, n), (d,)) for names, d in ELEMENTWISE.items() for n in names.split()},
    **{n: Case(getattr(ng, n), _jax(f"scipy.special.{n}"), (d,)) for names, d in SPECIAL.items() for n in names.split()},
    **{n: Case(getattr(np, n), getattr(jnp, n), ds) for names, ds in PAIRS.items() for n in names.split()},
    **{n: Case(getattr(ng, n), _jax(f"scipy.special.{n}"), ds) for names, ds in SPECIAL_PAIRS.items() for n in names.split()},
    **{n: Case(getattr(ng, OURS_OF.get(n, n)), _jax(f"nn.{n}"), (d,)) for n in ACTIVATIONS.split() for d in ("real",)},
    "gelu exact":  Case(ng.gelu, lambda x: jax.nn.gelu(x, approximate=False), ("real",)),
    "gelu":        Case(lambda x: ng.gelu(x, "tanh"), jax.nn.gelu, ("real",)),
    **{f"{n} over {axis}": Case(lambda x, f=getattr(np, n), a=axis: f(x, axis=a), lambda x, f=getattr(jnp, n), a=axis: f(x, axis=a), ("real",))
       for n in ("sum", "mean", "prod", "max", "min", "var", "std", "median", "cumsum", "cumprod", "sort", "ptp", "diff", "trapezoid", "flip")
       for axis in (0, -1)},
    "var of a sample": Case(lambda x: np.var(x, axis=0, ddof=1), lambda x: jnp.var(x, axis=0, ddof=1), ("real",)),
    "quantile":    Case(lambda x: np.quantile(x, 0.3, axis=1), lambda x: jnp.quantile(x, 0.3, axis=1), ("real",)),
    "logsumexp":   Case(lambda x: ng.logsumexp(x, 1), lambda x: jax.scipy.special.logsumexp(x, 1), ("large",)),
    "softmax":     Case(lambda x: ng.softmax(x, 1), lambda x: jax.nn.softmax(x, 1), ("large",)),
    "log_softmax": Case(lambda x: ng.log_softmax(x, 1), lambda x: jax.nn.log_softmax(x, 1), ("large",)),
    "norm":        Case(lambda x: np.linalg.norm(x, axis=1), lambda x: jnp.linalg.norm(x, axis=1), ("real",)),
    "norm 3":      Case(lambda x: np.linalg.norm(x, 3, axis=1), lambda x: jnp.linalg.norm(x, 3, axis=1), ("real",)),
    "where":       Case(lambda x, y: np.where(x > y, x * y, y), lambda x, y: jnp.where(x > y, x * y, y), ("real", "positive")),
    "clip":        Case(lambda x: np.clip(x, -0.5, 0.7), lambda x: jnp.clip(x, -0.5, 0.7), ("real",)),
    "take":        Case(lambda x: np.take(x, [[0, 2], [2, 1]], 0), lambda x: jnp.take(x, jnp.array([[0, 2], [2, 1]]), 0), ("real",)),
    "index":       Case(lambda x: x[[0, 2, 0], :, None][..., ::-1], lambda x: x[jnp.array([0, 2, 0]), :, None][..., ::-1], ("real",)),
    "at add":      Case(lambda x, y: x.at[[0, 0, 1]].add(y), lambda x, y: x.at[jnp.array([0, 0, 1])].add(y), ("real", "positive")),
    "roll":        Case(lambda x: np.roll(x, 2, 1), lambda x: jnp.roll(x, 2, 1), ("real",)),
    "pad reflect": Case(lambda x: np.pad(x, ((1, 2), (0, 3)), "reflect"), lambda x: jnp.pad(x, ((1, 2), (0, 3)), "reflect"), ("real",)),
    "pad wrap":    Case(lambda x: np.pad(x, ((1, 2), (0, 3)), "wrap"), lambda x: jnp.pad(x, ((1, 2), (0, 3)), "wrap"), ("real",)),
    "tile":        Case(lambda x: np.tile(x, (2, 3)), lambda x: jnp.tile(x, (2, 3)), ("real",)),
    "tril":        Case(lambda x: np.tril(x, -1), lambda x: jnp.tril(x, -1), ("real",)),
    "kron":        Case(np.kron, jnp.kron, ("real", "positive")),
    "matmul":      Case(lambda x, y: np.matmul(x, np.swapaxes(y, -1, -2)), lambda x, y: jnp.matmul(x, jnp.swapaxes(y, -1, -2)), ("real", "real")),
    "einsum":      Case(lambda x, y: np.einsum("ij,kj,ij->ki", x, y, x), lambda x, y: jnp.einsum("ij,kj,ij->ki", x, y, x), ("real", "real")),
    "fft":         Case(lambda x: np.real(np.fft.fft(x)) * np.imag(np.fft.fft(x)), lambda x: jnp.real(jnp.fft.fft(x)) * jnp.imag(jnp.fft.fft(x)), ("real",)),
    "rfft":        Case(lambda x: np.abs(np.fft.rfft(x, 7)) ** 2, lambda x: jnp.abs(jnp.fft.rfft(x, 7)) ** 2, ("real",)),
    "convolve":    Case(lambda x, y: np.convolve(x[0], y[1], "same"), lambda x, y: jnp.convolve(x[0], y[1], "same"), ("real", "real")),
    "interp":      Case(lambda x, y: np.interp(x[0], np.arange(5.0), y[0]), lambda x, y: jnp.interp(x[0], jnp.arange(5.0), y[0]), ("positive", "real")),
    "cholesky":    Case(lambda a: np.linalg.cholesky((a + np.swapaxes(a, -1, -2)) / 2), lambda a: jnp.linalg.cholesky((a + jnp.swapaxes(a, -1, -2)) / 2), ("spd",)),
    "solve":       Case(lambda a, b: np.linalg.solve(a, np.swapaxes(b, -1, -2)), lambda a, b: jnp.linalg.solve(a, jnp.swapaxes(b, -1, -2)), ("matrix", "real")),
    "inv":         Case(np.linalg.inv, jnp.linalg.inv, ("matrix",)),
    "det":         Case(np.linalg.det, jnp.linalg.det, ("matrix",)),
    "slogdet":     Case(lambda a: np.linalg.slogdet(a)[1], lambda a: jnp.linalg.slogdet(a)[1], ("matrix",)),
    "eigvalsh":    Case(lambda a: np.linalg.eigvalsh((a + np.swapaxes(a, -1, -2)) / 2), lambda a: jnp.linalg.eigvalsh((a + jnp.swapaxes(a, -1, -2)) / 2), ("spd",)),
    "svdvals":     Case(lambda a: np.linalg.svd(a, compute_uv=False), lambda a: jnp.linalg.svd(a, compute_uv=False), ("real",)),
    "pinv":        Case(np.linalg.pinv, jnp.linalg.pinv, ("real",)),
    "qr":          Case(lambda a: np.linalg.qr(a)[1] ** 2, lambda a: jnp.linalg.qr(a)[1] ** 2, ("matrix",)),
}
# fmt: on
LOOSE = {"pinv": 1e-9, "ndtri": 1e-9, "erfinv": 1e-9, "gammainc": 1e-9, "gammaincc": 1e-9, "i0": 1e-9, "i1": 1e-9, "i0e": 1e-9, "i1e": 1e-9, "log_ndtr": 1e-9, "betaln": 1e-9,
         "digamma": 1e-9}  # fmt: skip
# JAX has no derivative in the first argument, or no second one.
IN_SECOND = {"gammainc", "gammaincc"}
FIRST_ORDER = {"qr", "gammainc", "gammaincc"}


def close(ours: Any, theirs: Any, name: str) -> None:
    theirs, ours = np.asarray(theirs), np.asarray(getattr(ours, "data", ours))
    assert ours.shape == theirs.shape
    known = ~np.isnan(theirs)  # where JAX has no answer, any is as good
    scale = max(float(np.max(np.abs(theirs[known]), initial=0)), 1e-3)
    np.testing.assert_allclose(ours[known], theirs[known], rtol=0, atol=LOOSE.get(name, 1e-11) * scale)


@pytest.mark.parametrize("draw", range(COUNT))
@pytest.mark.parametrize("name", CASES)
def test_function(name: str, draw: int) -> None:
    case = CASES[name]
    rng = np.random.default_rng([zlib.crc32(name.encode()), draw])
    shape = (3, int(rng.integers(3, 6)))
    xs = [DOMAINS[d](rng, shape) for d in case.domains]
    tangents = [rng.normal(size=x.shape) for x in xs]
    out, pull = jax.vjp(case.theirs, *xs)
    cotangent = rng.normal(size=out.shape)
    mine, my_pull = ng.pullback(case.ours, *xs)
    close(mine, out, name)
    one = (lambda g: g) if len(xs) > 1 else (lambda g: (g,))
    for i, (g, h) in enumerate(zip(one(my_pull(cotangent)), pull(cotangent), strict=True)):
        if i or name not in IN_SECOND:
            close(g, h, name)
    if name not in IN_SECOND:
        close(ng.pushforward(case.ours, tuple(xs), tuple(tangents))[1], jax.jvp(case.theirs, tuple(xs), tuple(tangents))[1], name)

    def loss(f: Any, where: Any) -> Any:
        return lambda *args: where.sum(f(*args) * cotangent)

    if name not in FIRST_ORDER:
        arguments = tuple(range(len(xs)))
        expected = jax.jvp(jax.grad(loss(case.theirs, jnp), arguments), tuple(xs), tuple(tangents))[1]
        _, found = ng.pushforward(lambda *a: one(ng.pullback(loss(case.ours, np), *a)[1](1.0)), tuple(xs), tuple(tangents))
        for g, h in zip(found, expected, strict=True):
            close(g, h, name)

    # one gradient per slice, the second argument shared by all
    slices = np.stack([xs[0], 0.9 * xs[0]])
    many = jax.vmap(lambda x: jax.grad(loss(case.theirs, jnp))(x, *xs[1:]))(slices) if name not in IN_SECOND else None
    if many is not None:
        batched = ng.grad(loss(case.ours, np))(ng.positional(slices, vectorized=("slice",)), *xs[1:])
        close(batched, many, name)
