"""How draws move: JAX's implicit slopes of gamma draws, PyTorch's of gamma and beta draws (to the 3 digits that it has)."""

import jax
import numpy as np
import pytest
import torch

from namedgrad.backends import NUMPY

jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX takes it by place


@pytest.mark.parametrize("shape", [0.05, 0.3, 1.0, 2.5, 30.0, 500.0])
def test_gamma(shape):
    z = np.random.default_rng(0).gamma(shape, size=200)
    z = z[z > 1e-30]
    mine, full = NUMPY.gamma_slope(z, shape, 0), np.full(z.size, shape)
    np.testing.assert_allclose(mine, np.asarray(jax.lax.random_gamma_grad(full, z)), rtol=1e-9)
    np.testing.assert_allclose(mine, torch._standard_gamma_grad(torch.tensor(full), torch.tensor(z)).numpy(), rtol=2e-3)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1.0, 1.0), (2.0, 3.0), (10.0, 0.7), (50.0, 80.0)])
def test_beta(a, b):
    x = np.random.default_rng(0).beta(a, b, size=200)
    full = torch.full((200,), a, dtype=torch.float64), torch.full((200,), a + b, dtype=torch.float64)
    theirs = torch._dirichlet_grad(torch.tensor(x), *full).numpy() * (1 - x)  # PyTorch's is divided by 1 - x
    np.testing.assert_allclose(NUMPY.beta_slope(x, 1 - x, a, b, 0, 0), theirs, rtol=5e-3)
