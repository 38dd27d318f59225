"""Polynomials by their coefficients, the highest power first, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.positional.functions.plain import value_of
from namedgrad.positional.operands import numbered, whole
from namedgrad.positional.protocol import implements


def _line(p: Any) -> Any:
    return np.atleast_1d(whole(p))


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    a, b = _line(a1), _line(a2)
    size = max(len(a), len(b))
    return np.pad(a, (size - len(a), 0)) + np.pad(b, (size - len(b), 0))


implements(np.polysub)(lambda a1, a2: polyadd(a1, np.negative(whole(a2))))
implements(np.polymul)(lambda a1, a2: np.convolve(_line(a1), _line(a2)))


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = _line(p)
    for _ in range(m):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    added = _line(np.zeros(max(m, 1)) if k is None else k)
    if len(added) == 1 and m > 1:
        added = np.repeat(added, m)
    if len(added) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = _line(p)
    for i in range(m):
        p = np.concatenate([p / np.arange(len(p), 0, -1), added[i : i + 1]])
    return p


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """Division with remainder: one subtraction per coefficient of the quotient."""
    u, v = _line(u) + 0.0, _line(v) + 0.0
    count, quotient, rest = max(len(u) - len(v) + 1, 1), [], u
    for k in range(len(u) - len(v) + 1):
        quotient.append(rest[k] / v[0])
        rest = rest - np.pad(quotient[-1] * v, (k, len(u) - len(v) - k))
    known = value_of(numbered(rest), "np.polydiv()")
    first = len(known) - min(len(v) - 1, len(known)) if quotient else 0
    while first < len(known) - 1 and np.allclose(known[first], 0, rtol=1e-14):
        first += 1
    rest = rest[first:] if first < len(known) else rest[-1:] * 0
    return (np.stack(quotient) if quotient else np.zeros(count) * v[0]), rest


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    zeros = _line(seq_of_zeros)
    of_real_matrix = np.ndim(zeros) == 2 and zeros.dtype.kind != "c"  # has complex roots in pairs alone
    if np.ndim(zeros) == 2:
        zeros = np.linalg.eigvals(zeros)
    zeros = zeros.astype(np.mintypecode(zeros.dtype.char))  # half precision is too short, as in NumPy
    out, zero = np.ones(1, zeros.dtype), np.zeros(1, zeros.dtype)
    for k in range(len(zeros)):
        out = np.concatenate([out, zero]) - np.concatenate([zero, out * zeros[k]])
    return out.real if of_real_matrix else out


@implements(np.roots)
def roots(p: Any) -> Any:
    """Eigenvalues of the companion matrix."""
    p = _line(p)
    at = np.flatnonzero(value_of(numbered(p), "np.roots()"))
    if not len(at):
        return np.zeros(0)
    zeros, p = len(p) - at[-1] - 1, p[at[0] : at[-1] + 1]
    if len(p) == 1:
        return np.zeros(zeros)
    size = len(p) - 1
    companion = np.concatenate([np.expand_dims(-p[1:] / p[0], 0), np.eye(size, dtype=p.dtype)[:-1]])
    return np.concatenate([np.linalg.eigvals(companion), np.zeros(zeros, p.dtype)])
