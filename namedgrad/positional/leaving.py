"""What a user called when a value would leave the trace: the library's function below the user's own line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection
from pathlib import Path
from types import FrameType

from namedgrad.transforms.calls import DECORATORS, is_library

_OURS = str(Path(__file__).parent.parent)
_BETWEEN = "namedgrad.xarray.seams"  # its functions stand around xarray's own
_SPECIAL = {"__float__": "float()", "__int__": "int()", "__bool__": "bool()", "__complex__": "complex()",
            "__array__": "np.asarray()", "values": ".values", "data": ".data"}  # fmt: skip
_CONSTANT = "ng.stop_gradient(x) for a value that is not to be differentiated"


def called() -> str | None:
    """The function of another library that the user called, None if they asked the array itself."""
    frame: FrameType | None = sys._getframe(1)
    theirs: list[FrameType] = []
    while frame is not None and is_library(frame.f_code.co_filename):
        if not frame.f_code.co_filename.startswith(_OURS):
            theirs.append(frame)
        elif theirs and frame.f_globals.get("__name__") != _BETWEEN:
            return None  # this package asked, for the user
        frame = frame.f_back
    named = (f for f in reversed(theirs) if f.f_code.co_name not in DECORATORS)
    if frame is None or (first := next(named, None)) is None:
        return None
    return _text(first.f_code.co_name, first.f_code.co_qualname, first.f_globals.get("__name__", ""))


def _text(name: str, qualified: str, module: str) -> str:
    if name in _SPECIAL:
        return _SPECIAL[name]
    if "PlotAccessor" in qualified:
        return ".plot()" if name == "__call__" else f".plot.{name}()"
    return f".{name}()" if "." in qualified else f"{module}.{name}()"


def explained(what: str, instead: str) -> tuple[str, str]:
    """What left, and what to do instead, where a function of another library took it."""
    by = called()
    if by is None:
        return what, instead
    if by in _SPECIAL.values() or by == ".item()":
        numpy = "xarray's and NumPy's functions on the array itself, which stays an array (np.where for a branch)"
        return by, f"{numpy}, or {_CONSTANT}"
    name = by.rpartition(".")[2].removesuffix("()")
    if by.startswith((".to_", ".plot", "matplotlib")):
        return by, f"has_aux=True to return the array and do this outside of the function, or {_CONSTANT}"
    own = f"ng.xr.{name}(...)" if name in _replacements() else "what has a rule, of xarray, NumPy or namedgrad"
    return f"{by}, which computes with plain NumPy arrays,", f"{own}, or {_CONSTANT}"


def _replacements() -> Collection[str]:
    """The functions that stand in for those of xarray."""
    return importlib.import_module("namedgrad.xr").__all__
