"""Activation functions, with PyTorch's derivatives at their kinks."""

import numpy as np
import scipy.special

from tests.support.domains import domain, spaced
from tests.support.grid import entry, point, points, sample, ufunc

domain("wide")(lambda rng, shape: spaced(rng, shape, -7, 7))
domain("quarters")(lambda rng, shape: 0.25 * rng.integers(1, 6, shape))  # where no other domain has values
domain("minus_quarters")(lambda rng, shape: -0.25 * rng.integers(1, 6, shape))

INF = np.inf
ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805
S1 = 1 / (1 + np.exp(-1))  # sigmoid(1)
PHI1 = np.exp(-0.5) / np.sqrt(2 * np.pi)
CDF1 = scipy.special.ndtr(1.0)


def leaky(x, slope):
    return np.where(x > 0, x, slope * x)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * (np.exp(np.minimum(x, 0)) - 1))


def hard(x):
    return np.minimum(np.maximum(x + 3, 0), 6) / 6


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(beta * x > threshold, x, np.logaddexp(0, beta * x) / beta)


def gelu(x, approximate="none"):
    if approximate == "none":
        return x / 2 * (1 + scipy.special.erf(x / np.sqrt(2)))
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def named(f):
    """A reference of one operand and of parameters that may be arrays too, by any of their names."""
    return lambda x, *more, **kw: ufunc(lambda *xs: f(*xs))(x, *more, *kw.values())


def glu(x, dim):
    n = x.sizes[dim] // 2
    return x.isel({dim: slice(0, n)}) * scipy.special.expit(x.isel({dim: slice(n, None)}))


def softmin(x, dim):
    dims = [dim] if isinstance(dim, str) else dim
    return x.copy(data=scipy.special.softmax(-x.to_numpy(), axis=tuple(map(x.get_axis_num, dims))))


ODD = sample("wide(a,b)")
entry("relu", ufunc(lambda x: np.maximum(x, 0)), [ODD], points({0.0: (0, 0), INF: (INF, 1), -INF: (0, 0), 1e-300: (1e-300, 1)}))
entry("relu6", ufunc(lambda x: np.clip(x, 0, 6)), [ODD], points({0.0: (0, 0), 6.0: (6, 0), INF: (6, 0), 5.0: (5, 1)}))
entry("leaky_relu", lambda x, negative_slope=0.01: ufunc(leaky)(x, negative_slope), [sample("real(a,b)", "positive(b)")],
      [*points({0.0: (0, 0.1), INF: (INF, 1), -INF: (-INF, 0.1)}, negative_slope=0.1),
       point([-2.0, 0.0, 3.0], 0.5, value=[-1, 0, 3], cotangent=[1, 2, 3], gradients=[[0.5, 1, 3], -2.0])])  # fmt: skip
entry("prelu", named(leaky), [sample("real(a,b)", weight=0.25)],
      [*points({0.0: (0, 0.25), -1.0: (-0.25, 0.25)}, weight=0.25),
       point([[-2.0, 3.0], [0.0, -1.0]], [0.5, 2.0], cotangent=[[1, 1], [1, -3]], gradients=None),
       point([-2.0, 3.0], [0.5, 2.0], value=[-1, 3], cotangent=[1.5, -1], gradients=[[0.75, -1], [-3, 0]])])  # fmt: skip
entry("rrelu", lambda x, slopes=None, lower=1 / 8, upper=1 / 3: ufunc(leaky)(x, (lower + upper) / 2 if slopes is None else slopes), [],
      [*points({0.0: (0, 0.25), -2.0: (-0.5, 0.25)}, lower=0.2, upper=0.3),
       point([0.0, -1.0, 2.0], [0.5, 0.25, 0.1], value=[0, -0.25, 2], cotangent=[1, -1, 2], gradients=[[0.5, -0.25, 2], [0, 1, 0]])])  # fmt: skip
entry("elu", named(elu), [ODD], [*points({0.0: (0, 1.5), -INF: (-1.5, 0), INF: (INF, 1), -1.0: (1.5 * np.expm1(-1), 1.5 * np.exp(-1))}, alpha=1.5)])
entry("celu", named(lambda x, a=1.0: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0) / a))), [ODD],
      points({0.0: (0, 1), -INF: (-1.5, 0), INF: (INF, 1), -1.5: (1.5 * np.expm1(-1), np.exp(-1))}, alpha=1.5))  # fmt: skip
entry("selu", ufunc(lambda x: SCALE * elu(x, ALPHA)), [ODD], points({0.0: (0, SCALE * ALPHA), 2.0: (2 * SCALE, SCALE), -INF: (-SCALE * ALPHA, 0)}))
entry("hardtanh", lambda x, min_val=-1, max_val=1: ufunc(np.clip)(x, min_val, max_val), [],
      [*points({-1.0: (-1, 0), 1.0: (1, 0), 0.0: (0, 1), INF: (1, 0)}),
       point([0.0, 5.0, -5.0], -1.0, 2.0, value=[0, 2, -1], cotangent=[2, 3, -4], gradients=[[2, 0, 0], -4.0, 3.0])])  # fmt: skip
entry("hardshrink", lambda x, lambd=0.5: ufunc(lambda x: np.where(np.abs(x) > lambd, x, 0))(x), [],
      points({0.5: (0, 0), -0.5: (0, 0), INF: (INF, 1), 0.75: (0.75, 1)}))  # fmt: skip
entry("softshrink", lambda x, lambd=0.5: ufunc(lambda x, b: np.sign(x) * np.maximum(np.abs(x) - b, 0))(x, lambd), [],
      [*points({0.5: (0, 0), -0.5: (0, 0), -INF: (-INF, 1), 0.75: (0.25, 1)}),
       point([2.0, -2.0, 0.5], 1.0, value=[1, -1, 0], cotangent=[1, 3, 5], gradients=[[1, 3, 0], 2.0])])  # fmt: skip
entry("tanhshrink", ufunc(lambda x: x - np.tanh(x)), [ODD], points({0.0: (0, 0), INF: (INF, 1), -INF: (-INF, 1), 1e-9: (0, 1e-18)}))
entry("threshold", lambda x, *more, **kw: ufunc(lambda x, t, v: np.where(x > t, x, v))(x, *more, *kw.values()), [],
      [point([0.5, 0.75, -INF, INF], 0.5, 20.0, value=[20, 0.75, 20, INF], cotangent=[1, -2, 3, 4], gradients=[[0, -2, 0, 4], 0.0, 4.0]),
       point([-1.0, -0.5], -1.0, 7.0, value=[7, -0.5], cotangent=[3, 2], gradients=[[0, 2], 0.0, 3.0]),
       point([0.0, 1.0, 2.0], 1.0, -3.0, value=[-3, -3, 2], cotangent=[1, 2, 5], gradients=[[0, 0, 5], 0.0, 3.0])])  # fmt: skip
entry("softplus", named(softplus), [ODD],
      [*points({0.0: (np.log(2), 0.5), INF: (INF, 1), -INF: (0, 0), 1000.0: (1000, 1), -1000.0: (0, 0)}),
       *points({1.5: (np.log1p(np.exp(3)) / 2, 1 / (1 + np.exp(-3))), 1.75: (1.75, 1), 1e308: (1e308, 1)}, beta=2.0, threshold=3.0)])  # fmt: skip
entry("softsign", ufunc(lambda x: x / (1 + np.abs(x))), [ODD], points({0.0: (0, 1), INF: (1, 0), -INF: (-1, 0), -1.0: (-0.5, 0.25)}))
entry("sigmoid", ufunc(scipy.special.expit), [ODD], points({0.0: (0.5, 0.25), INF: (1, 0), -INF: (0, 0), -800.0: (0, 0), 1.0: (S1, S1 * (1 - S1))}))
entry("log_sigmoid", ufunc(scipy.special.log_expit), [ODD], points({0.0: (-np.log(2), 0.5), INF: (0, 0), -INF: (-INF, 1), -800.0: (-800, 1)}))
entry("hardsigmoid", ufunc(hard), [], points({-3.0: (0, 0), 3.0: (1, 0), 0.0: (0.5, 1 / 6), INF: (1, 0)}))
entry("hardswish", ufunc(lambda x: x * hard(x)), [], points({-3.0: (0, 0), 3.0: (3, 1), 0.0: (0, 0.5), INF: (INF, 1), -INF: (0, 0)}))
entry("silu", ufunc(lambda x: x * scipy.special.expit(x)), [], points({0.0: (0, 0.5), INF: (INF, 1), -INF: (0, 0), 1.0: (S1, S1 * (2 - S1))}))
entry("gelu", ufunc(gelu), [],
      [*points({0.0: (0, 0.5), INF: (INF, 1), -INF: (0, 0), 1.0: (CDF1, CDF1 + PHI1), 1e-200: (5e-201, 0.5), 1e200: (1e200, 1)}),
       *points({0.0: (0, 0.5), INF: (INF, 1), -INF: (0, 0), 1e200: (1e200, 1)}, approximate="tanh")])  # fmt: skip
entry("mish", ufunc(lambda x: x * np.tanh(np.logaddexp(0, x))), [], points({0.0: (0, 0.6), INF: (INF, 1), -INF: (0, 0), 1e3: (1e3, 1)}))
entry("glu", glu, [],
      [point([3.0, INF], dim="p", value=[3], cotangent=[2], gradients=[[2, 0]]),
       point([2.0, 0.0], dim="p", value=[1], cotangent=[3], gradients=[[1.5, 1.5]]),
       point([1.0, 2.0, 0.0, -INF], dim="p", value=[0.5, 0], cotangent=[2, 5], gradients=[[1, 0, 0.5, 0]])])  # fmt: skip
entry("softmin", softmin, [],
      [point([1.0, 1.0], dim="p", value=[0.5, 0.5], cotangent=[1, -1], gradients=[[-0.5, 0.5]]),
       point([0.0, INF], dim="p", value=[1, 0], cotangent=[2, 3], gradients=[[0, 0]]),
       point([1000.0], dim="p", value=[1], cotangent=[3], gradients=[[0]])])  # fmt: skip
