"""PyTorch's own sample inputs: values, gradients, gradients batched by cotangent and by slice, second order."""

import numpy as np
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import namedgrad as ng
from tests.oracle import table
from tests.oracle.harness import Comparison, Ours, Sample, Torch

pytestmark = pytest.mark.filterwarnings("ignore")
torch.set_num_threads(1)
OPERATORS = {o.name + (f".{o.variant_test_name}" if o.variant_test_name else ""): o for o in op_db}
COMPARED = [name for name, o in OPERATORS.items() if table.find(o.name, o.variant_test_name) is not None]


def samples(operator, dtype):
    """Sample inputs of PyTorch's, at most so many."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - what PyTorch draws from
    grad = operator.supports_autograd and dtype in operator.supported_backward_dtypes("cpu")
    found = list(operator.sample_inputs("cpu", dtype, requires_grad=grad))
    if len(found) <= table.MOST:
        return found
    return [found[i] for i in sorted(np.random.default_rng(0).choice(len(found), table.MOST, replace=False))]


@pytest.mark.parametrize("name", COMPARED)
def test_operator(name):
    operator = OPERATORS[name]
    ours = table.find(operator.name, operator.variant_test_name)
    theirs = table.THEIRS.get(name, table.THEIRS.get(operator.name, operator.op))
    left_out = table.LEFT_OUT.get(operator.name, (lambda *_: False, ""))[0]
    tolerance = table.RTOL.get(operator.name, 1e-11)
    found, count = [], 0
    for dtype in (torch.float64, torch.complex128):
        if dtype not in operator.supported_dtypes("cpu") or (dtype.is_complex and operator.name in table.REAL_ONLY):
            continue
        for k, s in enumerate(samples(operator, dtype)):
            sample = Sample((s.input, *s.args), s.kwargs)
            if left_out(*sample.flat):
                continue
            reference = Torch(theirs, sample)
            try:
                reference.values(sample.leaves)
            except Exception:  # noqa: BLE001, S112 - a sample that PyTorch itself refuses on these leaves
                continue
            count += 1
            comparison = Comparison(Ours(ours, sample), reference, np.random.default_rng(k), tolerance)
            stages = comparison.run(second=operator.supports_gradgrad)
            shapes = [tuple(v.shape) if isinstance(v, torch.Tensor) else v for v in sample.flat]
            found += [f"{dtype} sample {k} {shapes}: {stage}" for stage in stages]
    assert not found, "\n".join([f"{len(found)} differences in {count} samples", *found[:8]])
    assert count or left_out is not None


def test_every_operator_is_compared_or_explained():
    unknown = [n for n, o in OPERATORS.items() if n not in COMPARED and n not in table.NOT_HERE and o.name not in table.NOT_HERE]
    assert not unknown
    assert len(COMPARED) > 450


@pytest.mark.parametrize("batch", [(), (1,), (2,)])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_grouped_query_attention(heads, batch):
    """PyTorch's samples have none."""
    rng = np.random.default_rng(heads)
    arrays = [rng.normal(size=(*batch, *s)) for s in ((4, 3, 5), (heads, 6, 5), (heads, 6, 7))]
    mask = rng.normal(size=(4, 3, 6))
    leaves = [torch.tensor(x, requires_grad=True) for x in arrays]
    expected = torch.nn.functional.scaled_dot_product_attention(*leaves, attn_mask=torch.tensor(mask), enable_gqa=True)
    (expected**2).sum().backward()

    def attend(q, k, v):
        return ng.scaled_dot_product_attention(q, k, v, ng.positional(mask), enable_gqa=True)

    np.testing.assert_allclose(attend(*map(ng.positional, arrays)).data, expected.detach(), rtol=1e-12, atol=1e-14)
    gradients = ng.grad(lambda *x: (attend(*x) ** 2).sum(), (0, 1, 2))(*arrays)
    for g, leaf in zip(gradients, leaves, strict=True):
        np.testing.assert_allclose(g, leaf.grad, rtol=1e-10, atol=1e-12)
