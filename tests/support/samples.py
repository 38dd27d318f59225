"""Cases: every operation with every sample, in sizes that are all distinct, all equal, all 1, and drawn again.

The tests make every check on one case per operation, chosen by the names of both; with ``NAMEDGRAD_GRID=1`` on all.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import namedgrad as ng
import tests.grid  # noqa: F401 - importing it fills the grid
from namedgrad.primitive import OPERATIONS, Operation, Sample
from tests.support.domains import MATRICES, draw, of_complex, parse
from tests.support.grid import GRID

FULL = os.environ.get("NAMEDGRAD_GRID") == "1"
SAMPLES_PER_OPERATION = 12  # special points included

FIXED = {"one": 1, "three": 3, "two": 2, "six": 6, "eight": 8, "nine": 9}
SIZES = {"a": 3, "b": 4, "c": 2, "i": 5, "j": 5, **FIXED}  # all distinct, but for the square matrices
VARIANTS = {
    "distinct": SIZES,
    "equal": {**dict.fromkeys(SIZES, 4), **FIXED},
    "single": {**dict.fromkeys(SIZES, 1), **FIXED},
}
BATCHES = {"distinct": {"B": 7, "B1": 2, "B2": 6}, "equal": dict.fromkeys(("B", "B1", "B2"), 4), "single": {"B": 3, "B1": 1, "B2": 2}}
BATCH = tuple(BATCHES["distinct"])
SOLVES = {"polyfit"}  # matrices of powers, made of other operands


class Case(NamedTuple):
    """One operation with one of its samples, in one table of sizes."""

    op: Operation
    sample: Sample
    label: str
    variant: str
    seed: int
    floats: bool = False  #: only those of its outputs that can have a derivative, of several

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def domains(self) -> list[str]:
        return [parse(o)[0] for o in self.sample.operands]

    @property
    def tolerance_is_matrix(self) -> bool:
        return self.name in SOLVES or any(d in MATRICES for d in self.domains)

    @property
    def is_complex(self) -> bool:
        """Whether one of its operands is."""
        return any(map(of_complex, self.domains))

    @property
    def batch_sizes(self) -> dict[str, int]:
        """Sizes of vectorized names."""
        return BATCHES[self.variant]

    def __call__(self, *operands: ng.DimArray) -> Any:
        out = self.op.function(*operands, **self.sample.kwargs)
        if not self.floats:
            return out
        found = [y for y in outputs(out) if y.dtype.kind in "fc"]
        return found[0] if len(found) == 1 else tuple(found)

    def operands(
        self, batch: Mapping[int, Sequence[str]] | None = None, sizes: Mapping[str, int] | None = None, seed: int = 0
    ) -> list[ng.DimArray]:
        """Operands with more dims, ``batch[k]`` on the k-th, the first in front, the others behind the first own dim."""
        table = {**VARIANTS[self.variant], **self.batch_sizes, **(sizes or {})}
        rng = np.random.default_rng([zlib.crc32(self.label.encode()), self.seed + seed])
        out = []
        for k, operand in enumerate(self.sample.operands):
            domain, dims = parse(operand)
            more = tuple((batch or {}).get(k, ()))
            full = (*more[:1], *dims[:1], *more[1:], *dims[1:]) if k % 2 == 0 else (*dims[:1], *more, *dims[1:])
            out.append(ng.DimArray(draw(domain, full, table, rng, self.sample.kwargs.get("dims", dims[-2:])), full))
        return out


def _cases_of(op: Operation) -> list[Case]:
    """Every sample in every table of sizes, drawn again until there are enough."""
    known = GRID.get(op.name)
    samples = (*op.samples, *(known.samples if known else ()))
    variants = [v for v in VARIANTS if v != "single" or known is None or known.single]
    wanted = SAMPLES_PER_OPERATION - (len(known.points) if known else 0)
    out: list[Case] = []
    seed = 0
    while samples and (seed == 0 or len(out) < wanted):
        out += [Case(op, s, f"{op.name}-{k}-{v}-{seed}", v, 100 * seed) for v in variants for k, s in enumerate(samples)]
        seed += 1
    return out


CASES = [case for op in OPERATIONS.values() for case in _cases_of(op)]


def outputs(result: Any) -> list[ng.DimArray]:
    """One or several outputs as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _kinds(case: Case) -> str:
    """The kinds of its outputs, none if it has no derivative."""
    if not case.op.differentiable or case.name == "stop_gradient":
        return ""
    return "".join(y.dtype.kind for y in outputs(case(*case.operands())))


def _floating() -> list[Case]:
    found: dict[str, str] = {}
    with np.errstate(all="ignore"):
        for c in CASES:
            if c.variant == "distinct" and c.seed == 0:
                found[c.label.split("-distinct")[0]] = _kinds(c)
    kinds = [found[c.label.rsplit("-", 2)[0]] for c in CASES]
    floats = [set(k) & set("fc") for k in kinds]
    return [c._replace(floats=set(k) != f) for c, k, f in zip(CASES, kinds, floats, strict=True) if f]


FLOATING = _floating()
FLOATS = {c.label: c for c in FLOATING}  # of the cases that have a derivative, that part


def chosen(check: str, cases: list[Case] = CASES, *, every_sample: bool = False) -> list[Case]:
    """The cases of one check: all of them, or one per operation (or sample), which depends on the check."""
    if FULL:
        return cases
    groups: dict[str, list[Case]] = {}
    for c in cases:
        groups.setdefault(c.label.rsplit("-", 2)[0] if every_sample else c.name, []).append(c)
    return [group[zlib.crc32(f"{check} {key}".encode()) % len(group)] for key, group in groups.items()]


def table(check: str, cases: list[Case] = CASES, *, every_sample: bool = False) -> Any:
    """Run a test on the cases of a check."""
    return pytest.mark.parametrize("case", [param(c) for c in chosen(check, cases, every_sample=every_sample)])


def param(case: Case, *more: Any) -> Any:
    """A case as a parameter; a variance of one cell and its like may warn that they are no numbers, as NumPy's do."""
    marks = [pytest.mark.filterwarnings("ignore::RuntimeWarning")] if case.variant == "single" else []
    return pytest.param(case, *more, marks=marks, id="-".join((*more, case.label)))
