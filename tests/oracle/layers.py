"""Activations, layers, losses, resampling."""

# The signatures are PyTorch's.
# ruff: noqa: B008, FBT003, PLR0917

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import namedgrad as ng
from tests.oracle.registry import LEFT_OUT, RTOL, TABLE, THEIRS, named, numbered

# ------------------------------------------------------------------------------------------------ activations, layers, losses
F = "nn.functional."
for _name in ("relu", "relu6", "selu", "hardsigmoid", "hardswish", "silu", "mish", "softsign", "tanhshrink"):
    TABLE[F + _name] = lambda x, inplace=False, f=getattr(ng, _name): f(x)
TABLE["sigmoid"] = ng.sigmoid
TABLE["special.expit"] = ng.expit
for _name, _options in (("leaky_relu", "negative_slope"), ("elu", "alpha"), ("celu", "alpha"), ("hardshrink", "lambd"), ("softshrink", "lambd")):
    TABLE[F + _name] = lambda x, *a, inplace=False, f=getattr(ng, _name), **k: f(x, *a, **k)
TABLE[F + "hardtanh"] = lambda x, min_val=-1.0, max_val=1.0, inplace=False: ng.hardtanh(x, min_val, max_val)
TABLE[F + "threshold"] = lambda x, threshold, value, inplace=False: ng.threshold(x, threshold, value)
TABLE[F + "softplus"] = lambda x, beta=1, threshold=20: ng.softplus(x, beta, threshold)
TABLE[F + "gelu"] = lambda x, approximate="none": ng.gelu(x, approximate)
TABLE[F + "glu"] = lambda x, dim=-1: ng.glu(x, dim)
TABLE["nn.functional.prelu"] = lambda x, weight: _prelu(x, weight)
TABLE[F + "normalize"] = lambda x, p=2.0, dim=1, eps=1e-12: ng.normalize(x, dim, p, eps=eps) if x.ndim else ng.normalize(x[None], 0, p, eps=eps)[0]
TABLE[F + "layer_norm"] = lambda x, shape, weight=None, bias=None, eps=1e-5: _norm_layer(ng.layer_norm, x, shape, weight, bias, eps)
TABLE[F + "rms_norm"] = lambda x, shape, weight=None, eps=None: ng.rms_norm(x, weight, dim=tuple(range(-len(shape), 0)), eps=eps)
TABLE[F + "group_norm"] = lambda x, groups, weight=None, bias=None, eps=1e-5: ng.group_norm(x, weight, bias, groups=groups, channel=1, eps=eps)
TABLE[F + "cosine_similarity"] = lambda x, y, dim=1, eps=1e-8: ng.cosine_similarity(x, y, dim=dim, eps=eps) if x.ndim else ng.cosine_similarity(x[None], y[None], dim=0, eps=eps)
TABLE[F + "pairwise_distance"] = lambda x, y, p=2.0, eps=1e-6, keepdim=False: ng.pairwise_distance(x, y, dim=-1, p=p, eps=eps, keepdims=keepdim)


def _norm_layer(f: Any, x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    return f(x, weight, bias, dim=tuple(range(-len(shape), 0)), eps=eps)


def first(out: Any) -> Any:
    """The first of several outputs."""
    return out[0] if isinstance(out, tuple) else out


def _reduction(reduction: str) -> str | None:
    return None if reduction == "none" else reduction


def plain(name: str) -> None:
    f = getattr(ng, name)

    def call(*args: Any, reduction: str = "mean", size_average: Any = None, reduce: Any = None, **k: Any) -> Any:
        return f(*args, reduction=_reduction(reduction), **k)

    TABLE[F + name] = call


for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "hinge_embedding_loss", "binary_cross_entropy",
              "binary_cross_entropy_with_logits", "poisson_nll_loss", "margin_ranking_loss"):  # fmt: skip
    plain(_name)


def _prelu(x: Any, w: Any) -> Any:
    if x.ndim < 2 or not np.ndim(w) or w.shape == (1,):
        return ng.prelu(x, np.reshape(w, ()))
    return ng.prelu(x, np.reshape(w, (-1, *(1,) * (x.ndim - 2))))


def _dims(x: Any) -> tuple[str, ...]:
    """(C), or (N, C, d0, d1, ...)."""
    return ("C",) if x.ndim == 1 else ("N", "C", *(f"d{i}" for i in range(x.ndim - 2)))


def _classes(name: str) -> Callable[..., Any]:
    f = getattr(ng, name)

    def call(x: Any, y: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None, reduction: str = "mean", **k: Any) -> Any:
        dims = _dims(x)
        rest = tuple(d for d in dims if d != "C")
        target = named(y, dims if y.ndim == x.ndim else rest)
        w = None if weight is None else named(weight, ("C",))
        return numbered(f(named(x, dims), target, w, dim="C", ignore_index=ignore_index, reduction=_reduction(reduction), **k), rest)

    return call


TABLE[F + "nll_loss"], TABLE[F + "cross_entropy"] = _classes("nll_loss"), _classes("cross_entropy")


def _gaussian(x: Any, y: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
    if np.ndim(var) and var.shape != x.shape and var.shape == x.shape[:-1]:
        var = var[..., None]
    return ng.gaussian_nll_loss(x, y, var, full=full, eps=eps, reduction=_reduction(reduction))


TABLE[F + "gaussian_nll_loss"] = _gaussian


def _margin(name: str, target_too: bool) -> Callable[..., Any]:
    f = getattr(ng, name)

    def call(x: Any, y: Any, *args: Any, weight: Any = None, reduction: str = "mean", **k: Any) -> Any:
        single = not x.ndim
        x = np.reshape(x, (1,)) if single else x
        y = np.reshape(y, (1,)) if single and target_too else y
        dims = ("N", "C")[-x.ndim :]
        target = named(y, dims if target_too else dims[:-1])
        w = {} if weight is None else {"weight": named(weight, ("C",))}
        return numbered(f(named(x, dims), target, *args, dim="C", reduction=_reduction(reduction), **w, **k), ("N",))

    return call


TABLE[F + "multi_margin_loss"] = _margin("multi_margin_loss", target_too=False)
TABLE[F + "multilabel_margin_loss"] = _margin("multilabel_margin_loss", target_too=True)
TABLE[F + "multilabel_soft_margin_loss"] = lambda x, y, weight=None, reduction="mean", **_: numbered(
    ng.multilabel_soft_margin_loss(
        named(x, [f"a{i}" for i in range(x.ndim)]), named(y, [f"a{i}" for i in range(x.ndim)]),
        None if weight is None else named(weight, [f"a{i}" for i in range(x.ndim)][-np.ndim(weight):] if np.ndim(weight) else ()),
        dim=f"a{x.ndim - 1}", reduction=_reduction(reduction),
    )
)  # fmt: skip


def _embedding_cosine(x: Any, y: Any, target: Any, margin: float = 0.0, reduction: str = "mean", **_: Any) -> Any:
    dims = ("N", "C")[-max(x.ndim, y.ndim) :]
    t = named(target, ("N",) if np.ndim(target) else ())
    return numbered(ng.cosine_embedding_loss(named(x, dims[-x.ndim :]), named(y, dims[-y.ndim :]), t, dim="C", margin=margin, reduction=_reduction(reduction)))


TABLE[F + "cosine_embedding_loss"] = _embedding_cosine
TABLE[F + "triplet_margin_loss"] = lambda a, p, n, reduction="mean", **k: ng.triplet_margin_loss(a, p, n, dim=-1, reduction=_reduction(reduction), **k)
TABLE[F + "kl_div"] = lambda x, y, reduction="mean", log_target=False: ng.kl_div(
    x, y, log_target=log_target, reduction="sum" if reduction == "batchmean" else _reduction(reduction)
) * (1 / max(x.shape[0], 1) if reduction == "batchmean" and x.ndim else 1)


def _ctc(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> Any:
    if np.ndim(targets) == 1:  # all targets in one row
        lengths = [int(n) for n in np.asarray(target_lengths)]
        ends = np.cumsum(lengths)
        rows = np.zeros((len(lengths), max(lengths)), int)
        for i, (n, end) in enumerate(zip(lengths, ends, strict=True)):
            rows[i, :n] = np.asarray(targets)[end - n : end]
        targets = rows
    n = ("n",)
    out = ng.ctc_loss(
        named(log_probs, ("t", "n", "c")), named(targets, ("n", "s")), named(np.asarray(input_lengths), n), named(np.asarray(target_lengths), n),
        dims=("t", "c", "s"), blank=blank, zero_infinity=zero_infinity, reduction=_reduction(reduction),
    )  # fmt: skip
    return numbered(out, n)


TABLE[F + "ctc_loss"] = _ctc
TABLE[F + "scaled_dot_product_attention"] = lambda q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False: ng.scaled_dot_product_attention(
    q, k, v, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
)
TABLE[F + "batch_norm"] = lambda x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5: first(ng.batch_norm(
    x, weight, bias, mean, var, training=training, momentum=momentum, eps=eps
))
TABLE[F + "instance_norm"] = lambda x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5: first(ng.instance_norm(
    x, weight, bias, running_mean, running_var, training=use_input_stats, momentum=momentum, eps=eps
))


def _spatial(x: Any, given: Any) -> Any:
    if given is None:
        return None
    several = given if isinstance(given, (list, tuple)) else (given,) * (x.ndim - 2)
    return {i + 2: v for i, v in enumerate(several)}


TABLE[F + "interpolate"] = lambda x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False: ng.interpolate(
    x, _spatial(x, size), scale_factor=_spatial(x, scale_factor), mode=mode, align_corners=align_corners,
    recompute_scale_factor=recompute_scale_factor, antialias=antialias,
)  # fmt: skip
TABLE[F + "upsample_nearest"] = lambda x, size=None, scale_factor=None: TABLE[F + "interpolate"](x, size, scale_factor)
TABLE[F + "upsample_bilinear"] = lambda x, size=None, scale_factor=None: TABLE[F + "interpolate"](x, size, scale_factor, "bilinear", True)
_PAD = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
TABLE[F + "pad"] = lambda x, pad, mode="constant", value=None: ng.pad(
    x, {x.ndim - 1 - i: (pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)}, mode=_PAD[mode],
    **({"constant_values": 0 if value is None else value} if mode == "constant" else {}),
)  # fmt: skip


def _grid(x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None) -> Any:
    space = ("d", "h", "w")[-(x.ndim - 2) :]
    out = ng.grid_sample(
        named(x, ("n", "c", *space)), named(grid, ("n", *(f"{s}2" for s in space), "coord")), mode, padding_mode,
        align_corners=bool(align_corners), dims=space, coord="coord",
    )  # fmt: skip
    return numbered(out, ("n", "c", *(f"{s}2" for s in space)))


TABLE[F + "grid_sample"] = _grid
TABLE[F + "unfold"] = lambda x, kernel_size, dilation=1, padding=0, stride=1: ng.im2col(x, kernel_size, dilation, padding, stride)
TABLE[F + "fold"] = lambda x, output_size, kernel_size, dilation=1, padding=0, stride=1: ng.col2im(x, output_size, kernel_size, dilation, padding, stride)
TABLE[F + "pixel_shuffle"] = lambda x, upscale_factor: ng.pixel_shuffle(x, {-2: upscale_factor, -1: upscale_factor}, -3)
TABLE[F + "pixel_unshuffle"] = lambda x, downscale_factor: ng.pixel_unshuffle(x, {-2: downscale_factor, -1: downscale_factor}, -3)
TABLE[F + "channel_shuffle"] = lambda x, groups: ng.channel_shuffle(x, groups)
LEFT_OUT[F + "scaled_dot_product_attention"] = (lambda *flat: any(isinstance(v, float) and v > 0 for v in flat), "draws")
THEIRS[F + "ctc_loss"] = lambda x, *a, **k: torch.nn.functional.ctc_loss(torch.log_softmax(x, -1), *a, **k)  # PyTorch's gradient is right below a softmax only
TABLE[F + "ctc_loss"] = lambda x, *a, **k: _ctc(ng.log_softmax(x, -1), *a, **k)
RTOL[F + "hardsigmoid"] = 1e-7  # PyTorch's 1/6 is a float32
RTOL[F + "layer_norm"] = RTOL[F + "batch_norm"] = RTOL[F + "instance_norm"] = RTOL[F + "group_norm"] = 1e-9  # PyTorch's rounding of groups of one
for _n in (1, 2, 3):
    LEFT_OUT[F + f"max_unpool{_n}d"] = (lambda *flat, n=_n: _repeats(flat[1], n), "PyTorch credits all that write to one cell; here it is the last")
LEFT_OUT[F + "fractional_max_pool2d"] = LEFT_OUT[F + "fractional_max_pool3d"] = (lambda *flat: True, "draws")
LEFT_OUT[F + "pairwise_distance"] = (lambda *flat: any(isinstance(x, float) and x < 0 for x in flat), "negative orders")
LEFT_OUT[F + "multi_margin_loss"] = (lambda *flat: flat[0].ndim == 1 and flat[1].ndim == 1, "a target of one element for a vector")
LEFT_OUT[F + "triplet_margin_with_distance_loss"] = (lambda *flat: True, "the distance is a function of PyTorch's")
RTOL[F + "normalize"] = 1e-9


def _repeats(index: torch.Tensor, count: int) -> bool:
    """Whether a channel writes to a cell twice."""
    return any(len(np.unique(row)) < row.size for row in index.reshape(-1, int(np.prod(index.shape[-count:]))).numpy())


def _embedding(weight: Any, index: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    dims = tuple(f"i{k}" for k in range(np.ndim(index)))
    out = ng.embedding(
        named(index, dims), named(weight, ("v", "e")), "v", padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq
    )  # fmt: skip
    return numbered(out, (*dims, "e"))


def _bag(weight: Any, index: Any, offsets: Any = None, max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
         sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: Any = None) -> Any:  # fmt: skip
    dims = ("n",) if np.ndim(index) == 1 else ("bag", "n")
    options = {} if offsets is None else {"offsets": named(offsets, ("bag",)), "include_last_offset": include_last_offset}
    out = ng.embedding_bag(
        named(index, dims), named(weight, ("v", "e")), None if per_sample_weights is None else named(per_sample_weights, dims),
        dim="v", over="n", mode=mode, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, **options,
    )  # fmt: skip
    return numbered(out, ("bag", "e"))


TABLE[F + "embedding"], TABLE[F + "embedding_bag"] = _embedding, _bag
LEFT_OUT[F + "embedding"] = LEFT_OUT[F + "embedding_bag"] = (lambda *flat: any(isinstance(x, float) for x in flat), "renormalises the weights in place")
