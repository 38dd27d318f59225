"""The positional face: arrays whose visible axes are numbered, as NumPy programs expect them.

Importing this package lets transforms take NumPy arrays, numbers and positional arrays, and public functions take
positional arrays with axis numbers as ``dim=``.
"""

from __future__ import annotations

from namedgrad.positional import faces, indexing, leaves, operators, protocol, ufuncs, writing
from namedgrad.positional.array import PositionalArray
from namedgrad.positional.operands import positional

__all__ = [
    "PositionalArray",
    "faces",
    "indexing",
    "leaves",
    "operators",
    "positional",
    "protocol",
    "ufuncs",
    "writing",
]
