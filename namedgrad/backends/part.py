"""What the parts of a backend know of the whole.

A backend is put together from classes of kernels, one for each field.  Each is written as a part of the whole: it calls
kernels of other parts, and asks what kind of backend it is in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Raw = Any


class Kernels:
    """A part of :class:`namedgrad.backends.base.Backend`, and what parts ask of each other."""

    xp: Any  #: namespace with NumPy's names
    special: Any  #: namespace of the functions of :mod:`scipy.special`
    may_branch: bool  #: whether a value may steer Python
    function: Callable[[str], Callable[..., Raw]]  #: by its name
    isfinite_all: Callable[[Raw], bool]
    _empty_as: Callable[..., Raw]
    _faddeeva: Callable[..., Raw]
    _given: Callable[..., Raw]
    _in_blocks: Callable[..., Raw]
    _pieces: Callable[..., Raw]
    _repaired: Callable[..., Raw]
    arange: Callable[..., Raw]
    asarray: Callable[..., Raw]
    binom: Callable[..., Raw]
    carlson_integral: Callable[..., Raw]
    combine_at: Callable[..., Raw]
    complex_kve_order: Callable[..., Raw]
    complex_polygamma: Callable[..., Raw]
    concat: Callable[..., Raw]
    cut: Callable[..., Raw]
    dawsn_order: Callable[..., Raw]
    ellipeinc_order: Callable[..., Raw]
    ellipkinc_order: Callable[..., Raw]
    ellipkm1: Callable[..., Raw]
    erf: Callable[..., Raw]
    erfcx: Callable[..., Raw]
    expit: Callable[..., Raw]
    exprel_order: Callable[..., Raw]
    gather: Callable[..., Raw]
    hyp1f1_order: Callable[..., Raw]
    hyp2f1_order: Callable[..., Raw]
    indices: Callable[..., Raw]
    iv: Callable[..., Raw]
    iv_order: Callable[..., Raw]
    ive_order: Callable[..., Raw]
    jv: Callable[..., Raw]
    jv_order: Callable[..., Raw]
    kolmogorov_order: Callable[..., Raw]
    kv: Callable[..., Raw]
    kve: Callable[..., Raw]
    kve_order: Callable[..., Raw]
    log1p_of_fall: Callable[..., Raw]
    log1p_ratio_order: Callable[..., Raw]
    log_ratio: Callable[..., Raw]
    logaddexp: Callable[..., Raw]
    matmul: Callable[..., Raw]
    max: Callable[..., Raw]
    min: Callable[..., Raw]
    polynomial: Callable[..., Raw]
    real_polygamma: Callable[..., Raw]
    reshape: Callable[..., Raw]
    scale: Callable[..., Raw]
    searchsorted: Callable[..., Raw]
    select: Callable[..., Raw]
    spherical_j: Callable[..., Raw]
    spherical_j_pi: Callable[..., Raw]
    total: Callable[..., Raw]
    wofz_order: Callable[..., Raw]
    yv: Callable[..., Raw]
    yv_order: Callable[..., Raw]
    zeros: Callable[..., Raw]
    zeta_order: Callable[..., Raw]
