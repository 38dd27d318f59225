"""``chunk`` inside a function: how an array is cut is nothing that a derivative sees.

xarray would hand a traced array to dask, whose lazy blocks no tape records.  So a variable that holds one of our arrays
stays as it is; arrays that were lazy outside are lazy inside.  Whoever hands one to dask by other ways is told.
"""

from __future__ import annotations

from typing import Any

import xarray as xr
from xarray.core import dataset

from namedgrad.array import TraceError
from namedgrad.positional.array import PositionalArray

_DATASET: Any = dataset
_VARIABLE: Any = xr.Variable
_maybe_chunk, _chunk = _DATASET._maybe_chunk, _VARIABLE.chunk


def maybe_chunk(name: Any, var: Any, *args: Any, **kwargs: Any) -> Any:
    """As xarray's, for the variables of a Dataset."""
    return var if isinstance(var._data, PositionalArray) else _maybe_chunk(name, var, *args, **kwargs)


def chunk(self: Any, *args: Any, **kwargs: Any) -> Any:
    """As xarray's, for a variable by itself."""
    return self if isinstance(self._data, PositionalArray) else _chunk(self, *args, **kwargs)


def _refuse(self: PositionalArray) -> Any:
    if self._x.level is None and not self._x.hidden:
        return ("namedgrad", type(self), self._x.raw)
    raise TraceError(
        "a dask graph would take a value that is being differentiated or vectorized out of the trace; give the "
        "transform an array that is lazy already, such as x.chunk(...), and leave dask's own functions away inside"
    )


_DATASET._maybe_chunk, _VARIABLE.chunk = maybe_chunk, chunk
PositionalArray.__dask_tokenize__ = _refuse  # type: ignore[attr-defined]
