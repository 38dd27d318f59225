"""The table of PyTorch's operators: where the counterparts are entered, and which operators have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import namedgrad as ng
from namedgrad.positional.array import ordered, wrap

MOST = 24  # samples of one operator
TABLE: dict[str, Callable[..., Any]] = {}
RTOL: dict[str, float] = {"cov": 1e-6}  # its weights are float32
REAL_ONLY: set[str] = set()
# PyTorch's own call where that of the sample has no definite answer: phases of eigenvectors, a gradient of its own.
THEIRS: dict[str, Callable[..., Any]] = {}
# Samples that are left out, by their flat arguments, and why.
LEFT_OUT: dict[str, tuple[Callable[..., bool], str]] = {}
# Operators without a counterpart, and why.
NOT_HERE: dict[str, str] = {}
_PLACES = ("", "nn.functional.", "special.", "linalg.", "fft.")


def find(name: str, variant: str = "") -> Callable[..., Any] | None:
    """The counterpart of an operator: from the table, else the function of the same name."""
    full = f"{name}.{variant}" if variant else name
    for key in (full, name):
        if key in NOT_HERE:
            return None
        if key in TABLE:
            return TABLE[key]
    for place in _PLACES:
        if place and name.startswith(place) and place not in ("fft.", "linalg.") and hasattr(ng, name.removeprefix(place)):
            return getattr(ng, name.removeprefix(place))
    return getattr(ng, name, None) or getattr(np, name, None) if "." not in name else None


def as_torch(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function with PyTorch's arguments under PyTorch's names."""

    def enter(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (f.__name__.rstrip("_"),):
            TABLE[name] = f
        return f

    return enter


def axes_of(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, (list, tuple, torch.Size)) and dim else None if isinstance(dim, (list, tuple)) else dim


def many(*args: Any) -> tuple[int, ...]:
    """Sizes given one by one or together."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple, torch.Size)) else args


def alpha(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y, *, alpha=1: f(x, y * alpha if alpha != 1 else y)


def named(x: Any, dims: Any) -> Any:
    """The array with names for its axes."""
    return x.name(*dims) if isinstance(x, ng.PositionalArray) else ng.DimArray(np.asarray(x), tuple(dims))


def numbered(x: Any, dims: Any = None) -> Any:
    """A result with numbered axes again, in this order of its names."""
    return wrap(ordered(x, tuple(n for n in (x.dims if dims is None else dims) if n in x.dims)))


# ------------------------------------------------------------------------------------------------ what is not compared

for _name in (
    "arange", "cauchy", "exponential", "geometric", "log_normal", "normal", "uniform", "linspace", "logspace",
    "randn", "randn_like", "rand_like", "randint", "randint_like", "new_zeros", "new_ones", "ones", "zeros", "full",
    "full_like", "new_empty", "new_empty_strided", "empty_strided", "empty", "empty_permuted", "scalar_tensor",
    "new_full", "multinomial", "bernoulli", "eye", "tril_indices", "triu_indices", "empty_like", "new_empty",
    "rand",
):  # fmt: skip
    NOT_HERE[_name] = "makes an array from nothing, or draws"
for _name in ("bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short", "cdouble", "cfloat", "chalf", "to", "item", "type_as"):
    NOT_HERE[_name] = "converts"
for _name in (
    "as_strided", "as_strided_copy", "as_strided_scatter", "resize_", "resize_as_", "alias_copy", "jiterator_unary",
    "jiterator_binary", "jiterator_4inputs_with_extra_args", "jiterator_binary_return_by_ref",
    "jiterator_2inputs_2outputs", "hash_tensor", "to_sparse", "sparse.sampled_addmm", "sparse.mm",
    "torch._scaled_mm", "torch._scaled_mm_v2", "broadcast_shapes", "nonzero_static", "_chunk_cat",
    "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "svd_lowrank", "pca_lowrank", "geqrf", "ormqr",
    "lu", "triangular_solve", "combinations", "unique_consecutive", "histogram", "histogramdd", "searchsorted",
    "nonzero", "linalg.vander", "masked_scatter", "diagonal_scatter", "stft", "istft", "unique",
    "native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit",
    "_batch_norm_with_update", "_softmax_backward_data", "max_pool2d_with_indices_backward",
    "torch.ops.aten._safe_softmax.default", "grid_sampler_2d", "grid_sampler_3d", "_upsample_bilinear2d_aa",
    "lu_unpack", "lu_solve", "linalg.lu_solve", "linalg.lu_factor", "linalg.lu_factor_ex", "linalg.ldl_factor",
    "linalg.ldl_factor_ex", "linalg.ldl_solve", "linalg.householder_product", "linalg.cholesky_ex",
    "linalg.solve_ex", "linalg.inv_ex", "torch.ops.aten._flash_attention_forward",
    "torch.ops.aten._efficient_attention_forward",
):  # fmt: skip
    NOT_HERE[_name] = "is about the memory or the kernels of PyTorch"
for _name in ("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout",
              "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "native_dropout_backward"):  # fmt: skip
    NOT_HERE[_name] = "draws; here the mask is an input"
for _name in ("hamming", "hann", "bartlett", "blackman", "cosine", "exponential", "gaussian", "kaiser", "general_cosine", "general_hamming", "nuttall"):
    NOT_HERE[f"signal.windows.{_name}"] = "makes an array from nothing"
for _name in ("nn.functional.linear_cross_entropy", "fft.hfft2", "fft.hfftn", "fft.ihfft2", "fft.ihfftn"):
    NOT_HERE[_name] = "is not offered"
for _kind in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"):
    NOT_HERE[f"special.{_kind}"] = NOT_HERE[f"special.shifted_{_kind}"] = "is given degrees that are no whole numbers, and has no derivative in PyTorch"
for _name in ("cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "median", "norm", "var", "std", "softmax", "log_softmax", "softmin", "normalize", "logaddexp", "logsumexp"):
    NOT_HERE[f"masked.{_name}"] = "is ng.where before the function"
NOT_HERE["nn.functional.multi_head_attention_forward"] = "has its weights in one matrix"
NOT_HERE["nn.functional.one_hot"] = "makes a dim"
