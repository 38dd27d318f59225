"""One call here and in PyTorch: values, gradients, batched gradients, gradients per slice, second order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

import namedgrad as ng

Call = Callable[..., Any]
FLOAT = (torch.float64, torch.complex128)
SCALES = (1.0, 0.75, 1.25)  # of the slices: ties stay ties


class Unanswered(Exception):  # noqa: N818 - PyTorch has no answer, so there is nothing to compare
    """PyTorch raised."""


class Sample:
    """A call of PyTorch's with its tensors taken out; those that are differentiated are the leaves."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        flat, self.tree = tree_flatten((tuple(args), kwargs))
        self.flat = [x.detach() if isinstance(x, torch.Tensor) else x for x in flat]
        self.at = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor) and x.requires_grad and x.dtype in FLOAT]

    @property
    def leaves(self) -> list[np.ndarray]:
        return [_numpy(self.flat[i]).copy() for i in self.at]

    def call(self, f: Call, leaves: Sequence[Any], other: Call) -> list[Any]:
        """The outputs of ``f`` as a flat list, with other tensors made what ``other`` makes of them."""
        flat = [other(x) if isinstance(x, torch.Tensor) else x for x in self.flat]
        for i, x in zip(self.at, leaves, strict=True):
            flat[i] = x
        args, kwargs = tree_unflatten(flat, self.tree)
        out = f(*args, **kwargs)
        return list(out) if isinstance(out, (tuple, list)) else [out]


# ------------------------------------------------------------------------------------------------ PyTorch


class Torch:
    """What PyTorch says of a sample."""

    def __init__(self, f: Call, sample: Sample) -> None:
        self.f, self.sample = f, sample

    def outputs(self, leaves: Sequence[np.ndarray]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        xs = [torch.tensor(x, requires_grad=True) for x in leaves]
        return xs, self.sample.call(self.f, [x.clone() for x in xs], torch.clone)

    def values(self, leaves: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [_numpy(y) for y in self.outputs(leaves)[1]]

    def gradients(self, leaves: Sequence[np.ndarray], cotangents: dict[int, np.ndarray]) -> list[np.ndarray]:
        try:
            xs, ys = self.outputs(leaves)
            return _filled(self._grad(xs, ys, cotangents), xs)
        except Exception as error:
            raise Unanswered(str(error)) from error

    def second(
        self, leaves: Sequence[np.ndarray], cotangents: dict[int, np.ndarray], directions: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        try:
            return self._second(leaves, cotangents, directions)
        except Exception as error:
            raise Unanswered(str(error)) from error

    def _second(self, leaves: Any, cotangents: Any, directions: Any) -> list[np.ndarray]:
        xs, ys = self.outputs(leaves)
        gs = self._grad(xs, ys, cotangents, create_graph=True)
        terms = [torch.sum((g * torch.tensor(v).conj()).real) for g, v in zip(gs, directions) if g is not None and g.requires_grad]
        if not terms:
            return [np.zeros_like(x) for x in leaves]
        return _filled(torch.autograd.grad(sum(terms), xs, allow_unused=True), xs)

    def differentiable(self, leaves: Sequence[np.ndarray]) -> list[int]:
        return [i for i, y in enumerate(self.outputs(leaves)[1]) if isinstance(y, torch.Tensor) and y.requires_grad]

    def _grad(self, xs: Any, ys: Any, cotangents: dict[int, np.ndarray], **how: Any) -> Any:
        at = list(cotangents)
        cs = [torch.tensor(cotangents[i]) for i in at]
        return torch.autograd.grad([ys[i] for i in at], xs, cs, allow_unused=True, **how)


def _numpy(y: Any) -> Any:
    return y.numpy(force=True) if isinstance(y, torch.Tensor) else np.asarray(y)


def _filled(gs: Any, xs: Any) -> list[np.ndarray]:
    return [np.zeros(x.shape, _numpy(x).dtype) if g is None else _numpy(g) for g, x in zip(gs, xs, strict=True)]


# ------------------------------------------------------------------------------------------------ namedgrad


def host(x: torch.Tensor) -> np.ndarray:
    return _numpy(x)


class Ours:
    """What namedgrad says of the same sample, on positional arrays."""

    def __init__(self, f: Call, sample: Sample) -> None:
        self.f, self.sample = f, sample

    def values(self, leaves: Sequence[Any]) -> list[Any]:
        other = host if leaves else lambda x: ng.positional(host(x))
        outs = self.sample.call(self.f, [ng.positional(x) for x in leaves], other)
        return [None if y is None else _data(y) for y in outs]  # None: not compared

    def gradients(self, leaves: Sequence[Any], cotangents: dict[int, Any]) -> list[Any]:
        return [_data(g) for g in self._gradients(leaves, cotangents)]

    def tangents(self, leaves: Sequence[Any], at: Sequence[int], directions: Sequence[Any]) -> list[Any]:
        """Forward mode: the tangents of some outputs."""
        return [_data(t) for t in ng.pushforward(self._chosen(at), tuple(leaves), tuple(directions))[1]]

    def second(self, leaves: Sequence[Any], cotangents: dict[int, Any], directions: Sequence[Any]) -> list[Any]:
        _, pull = ng.pullback(lambda *xs: tuple(self._gradients(xs, cotangents)), *leaves)
        out = pull(tuple(directions))
        return [_data(g) for g in (out if len(leaves) > 1 else (out,))]

    def _gradients(self, leaves: Sequence[Any], cotangents: dict[int, Any]) -> list[Any]:
        _, pull = ng.pullback(self._chosen([*cotangents]), *leaves)
        out = pull(tuple(cotangents.values()))
        return list(out) if len(leaves) > 1 else [out]

    def _chosen(self, at: Sequence[int]) -> Callable[..., Any]:
        """The function with some of its outputs alone."""

        def chosen(*xs: Any) -> Any:
            ys = self.sample.call(self.f, xs, host)
            return tuple(ys[i] for i in at)

        return chosen


def _data(x: Any) -> Any:
    return np.asarray(x.data) if isinstance(x, (ng.PositionalArray, ng.DimArray)) else np.asarray(x)


# ------------------------------------------------------------------------------------------------ comparison


class DifferentError(AssertionError):
    """They differ."""


def same(ours: Any, theirs: Any, what: str, rtol: float, *, derivative: bool = False) -> None:
    """Both are equal up to rounding of the largest number; shapes are equal, and what is not finite is so in both.

    Where PyTorch's derivative is NaN any answer is as good.
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if derivative and ours.shape == theirs.shape:
        ours = np.where(np.isnan(theirs), theirs, ours)
    if ours.shape != theirs.shape:
        raise DifferentError(f"{what}: shape {ours.shape}, PyTorch's {theirs.shape}")
    if not ours.size:
        return
    if theirs.dtype.kind not in "fc":
        if not np.array_equal(ours, theirs):
            raise DifferentError(f"{what}: {ours!r}, PyTorch's {theirs!r}")
        return
    finite = np.isfinite(theirs)
    with np.errstate(all="ignore"):
        off = ~np.where(finite, np.isfinite(ours), (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
        if not off.any() and finite.any():
            scale = max(float(np.max(np.abs(theirs[finite]))), 1e-3)
            off = finite & (np.abs(ours - theirs) > rtol * scale)
    if off.any():
        at = tuple(int(k[0]) for k in np.nonzero(np.atleast_1d(off)))
        mine, its = np.atleast_1d(ours)[at], np.atleast_1d(theirs)[at]
        raise DifferentError(f"{what}: {int(off.sum())} of {off.size} differ, at {at}: {mine!r}, PyTorch's {its!r}")


def random_like(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    out = rng.normal(size=x.shape)
    return np.asarray(out + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else out)


def stacked(parts: Sequence[np.ndarray], name: str) -> Any:
    return ng.positional(np.stack(parts), vectorized=(name,))


class Comparison:
    """All stages of one sample; ``found`` are the stages in which they differ, each with what was found."""

    def __init__(self, ours: Ours, theirs: Torch, rng: np.random.Generator, rtol: float) -> None:
        self.ours, self.theirs, self.rng, self.rtol = ours, theirs, rng, rtol
        self.leaves = ours.sample.leaves
        self.found: list[str] = []

    def run(self, *, second: bool) -> list[str]:
        """Every stage, as long as the ones before it agree."""
        if not self._stage("values", self._values) or not self.leaves:
            return self.found
        outputs = self.theirs.values(self.leaves)
        at = self.theirs.differentiable(self.leaves)
        self.cotangents = [{i: random_like(self.rng, outputs[i]) for i in at} for _ in SCALES]
        if at and self._stage("gradient", self._gradient):
            self._stage("forward", self._forward)
            self._stage("batched", self._batched)
            self._stage("per slice", self._per_slice)
            if len(self.leaves) > 1:
                self._stage("first input per slice", self._partly)
            if second:
                self._stage("second order", self._second)
        return self.found

    def _stage(self, name: str, check: Callable[[], None]) -> bool:
        try:
            with np.errstate(all="ignore"):
                check()
        except Unanswered:
            return False
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what was found
            self.found.append(f"{name}: {type(error).__name__}: {str(error)[:600]}")
            return False
        return True

    def _values(self) -> None:
        theirs, mine = self.theirs.values(self.leaves), self.ours.values(self.leaves)
        if len(theirs) != len(mine):
            raise DifferentError(f"{len(mine)} outputs, PyTorch's {len(theirs)}")
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if a is not None:
                same(a, b, f"output {i}", self.rtol)

    def _equal(self, mine: Any, theirs: Any, rtol: float) -> None:
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            same(a, b, f"gradient of input {i}", rtol, derivative=True)

    def _gradient(self) -> None:
        one = self.cotangents[0]
        self._equal(self.ours.gradients(self.leaves, one), self.theirs.gradients(self.leaves, one), self.rtol)

    def _many(self, name: str) -> dict[int, Any]:
        return {i: stacked([c[i] for c in self.cotangents], name) for i in self.cotangents[0]}

    def _batched(self) -> None:
        theirs = [self.theirs.gradients(self.leaves, c) for c in self.cotangents]
        expected = [np.stack(parts) for parts in zip(*theirs, strict=True)]
        self._equal(self.ours.gradients(self.leaves, self._many("V")), expected, self.rtol)

    def _per_slice(self) -> None:
        slices = [[np.asarray(s * x) for x in self.leaves] for s in SCALES]
        theirs = [self.theirs.gradients(x, c) for x, c in zip(slices, self.cotangents, strict=True)]
        expected = [np.stack(parts) for parts in zip(*theirs, strict=True)]
        xs = [stacked(parts, "B") for parts in zip(*slices, strict=True)]
        self._equal(self.ours.gradients(xs, self._many("B")), expected, self.rtol)

    def _partly(self) -> None:
        first, *others = self.leaves
        slices = [[np.asarray(s * first), *others] for s in SCALES]
        theirs = [self.theirs.gradients(x, c) for x, c in zip(slices, self.cotangents, strict=True)]
        expected = [np.stack(parts) for parts in zip(*theirs, strict=True)]
        xs = [stacked([x[0] for x in slices], "B"), *others]
        self._equal(self.ours.gradients(xs, self._many("B")), expected, self.rtol)

    def _forward(self) -> None:
        one, directions = self.cotangents[0], [random_like(self.rng, x) for x in self.leaves]
        pulled = self.theirs.gradients(self.leaves, one)
        tangents = self.ours.tangents(self.leaves, list(one), directions)
        terms = [np.real(np.conj(c) * t) for c, t in zip(one.values(), tangents, strict=True)]
        expected = [np.real(np.conj(g) * t) for g, t in zip(pulled, directions, strict=True)]
        total = sum(float(np.sum(np.abs(t))) for t in (*terms, *expected))
        off = abs(sum(float(np.sum(t)) for t in terms) - sum(float(np.sum(t)) for t in expected))
        if np.isfinite(total) and off > 10 * self.rtol * max(total, 1e-3):
            raise DifferentError(f"the tangent is off by {off} of {total}")

    def _second(self) -> None:
        one, directions = self.cotangents[0], [random_like(self.rng, x) for x in self.leaves]
        theirs = self.theirs.second(self.leaves, one, directions)
        self._equal(self.ours.second(self.leaves, one, directions), theirs, 100 * self.rtol)
