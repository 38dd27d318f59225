"""Calls of xarray's API by family: every method that a derivative goes through, in programs that are a line each."""

from __future__ import annotations

from tests.xarray.catalogue import (
    arithmetic,
    datasets,
    groups,
    interpolation,
    joining,
    missing,
    reductions,
    selection,
    shapes,
    times,
    windows,
)
from tests.xarray.catalogue.entry import Entry

FAMILIES = (
    arithmetic, reductions, missing, selection, joining, shapes, windows, groups, interpolation, datasets, times,
)  # fmt: skip
CATALOGUE: list[Entry] = [entry for family in FAMILIES for entry in family.ENTRIES]
