"""Gather and scatter by name: positions read, positions written.

Everything is one linear index map, gather, and its transpose, scatter-add.  An index is a named array: its names are
new dims of the result, met with those of the indexed array where both have them (a vectorized index included).
"""

from namedgrad.rules.indexing import along, search  # noqa: F401 - register operations
from namedgrad.rules.indexing.at import At
from namedgrad.rules.indexing.maps import gather
from namedgrad.rules.indexing.positions import as_index, beside, plain, wrapped
from namedgrad.rules.indexing.reading import getitem, isel, take

__all__ = ["At", "as_index", "beside", "gather", "getitem", "isel", "plain", "take", "wrapped"]
