"""What a user called when a value would leave the trace: the library's function below the user's own line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection
from pathlib import Path
from types import FrameType, FunctionType

from namedgrad.primitive import OPERATIONS
from namedgrad.transforms.calls import DECORATORS, PACKAGES, is_below

_OURS = str(Path(__file__).parent.parent)
_BETWEEN = {"namedgrad.xarray.seams", "namedgrad.xarray.substitutes"}  # their functions stand around xarray's own
_SPECIAL = {"__float__": "float()", "__int__": "int()", "__bool__": "bool()", "__complex__": "complex()",
            "__array__": "np.asarray()", "values": ".values", "data": ".data"}  # fmt: skip
_CLASSES = {"vectorize.__call__": "np.vectorize()", "AxisConcatenator.__getitem__": "np.r_[] and np.c_[]",
            "ndenumerate.__init__": "np.ndenumerate()"}  # fmt: skip
_WRITABLE = "out = xr.zeros_like(x) of an x that is differentiated, or xr.DataArray(np.zeros(n, like=x.data), dims=...)"
_INSTEAD = {
    ".__setitem__()": f"an array that it can be written into: {_WRITABLE}; or xr.where or xr.concat",
    "np.as_strided()": "np.lib.stride_tricks.sliding_window_view(x, width), and its slices with steps",
    "np.full()": "np.full(shape, x, like=x)",
    "np.poly1d()": "np.polyval(coefficients, x)",
    _CLASSES["AxisConcatenator.__getitem__"]: "np.concatenate([a, b]) or np.column_stack([a, b])",
    _CLASSES["ndenumerate.__init__"]: "np.ndindex(x.shape) and x[index]",
    _CLASSES["vectorize.__call__"]: (
        "NumPy functions on whole arrays, with np.where for a branch, or xr.apply_ufunc(f, x, vectorize=True), "
        "which may call f with every number"
    ),
}
_MATRIX = "or, if it is linear in its array, its matrix, f(np.eye(n), axis=0) @ x"
POLYNOMIALS = "numpy.polynomial."
_MASKED = "numpy.ma."
INSTEAD_OF_MODULES = {
    POLYNOMIALS: (
        "np.polyval(c[::-1], x), polyval(x, c) with coefficients that are constants, or polyvander(x, n) @ c with "
        "places that are, and so of the other kinds of polynomials"
    ),
    _MASKED: "np.where(mask, np.nan, x) with np.nansum and its kin, m.filled(np.nan) of a masked array m",
    "scipy.sparse.": "A @ x or x @ A for a product with a sparse A, A.toarray() for all else",
    "scipy.linalg.": "np.linalg's functions, on whole matrices",
    "scipy.special.": (
        "its ufuncs, as binom(n, k) for comb(n, k), poch(n - k + 1, k) for perm(n, k) and gamma(n + 1) for factorial(n)"
    ),
    "scipy.signal.": f"ng.convolve or np.fft's functions, {_MATRIX}",
    "scipy.ndimage.": f"ng.convolve or ng.map_coordinates, {_MATRIX}",
    "scipy.interpolate.": f"ng.interp or ng.map_coordinates, {_MATRIX}",
    "scipy.stats.": (
        "its formula in NumPy's functions and the ufuncs of scipy.special (those of usual distributions stand in the "
        "documentation, Coming from elsewhere, SciPy)"
    ),
    "scipy.optimize.": (
        "ng.minimize or ng.least_squares, which are differentiable, or a step of Newton's method from what it found "
        "for constants"
    ),
    "scipy.integrate.": (
        "np.trapezoid, a sum at the places of np.polynomial.legendre.leggauss, or a loop of time steps (ng.scan)"
    ),
    "pandas.": ".to_numpy() of what is pandas', and NumPy's functions",
}
_APPLIES = ("apply_ufunc", "reduce", "map_blocks")  # functions of xarray that call one of the user's
_SCIPY = {  # under another name here; "": what has the name here is something else
    "Akima1DInterpolator": "interp", "CubicSpline": "interp", "PchipInterpolator": "interp", "interp1d": "interp",
    "cho_factor": "cholesky", "cho_solve": "solve", "convolve1d": "convolve", "convolve2d": "convolve",
    "correlate1d": "correlate", "fftconvolve": "convolve", "lu_factor": "lu", "lu_solve": "solve",
    "oaconvolve": "convolve", "zoom": "interpolate",
    "fftpack.diff": "", "fftpack.shift": "", "ndimage.maximum": "max", "ndimage.minimum": "min",
    "ndimage.shift": "map_coordinates", "optimize.fmin": "", "signal.bilinear": "", "signal.normalize": "",
    "signal.square": "",
}  # fmt: skip
_CONSTANT = "ng.stop_gradient(x) for a value that is not to be differentiated"


def called() -> tuple[str, str] | None:
    """The function of another library that the user called, and its module; None if they asked the array itself."""
    frame: FrameType | None = sys._getframe(1)
    theirs: list[FrameType] = []
    while frame is not None and is_below(frame):
        if not frame.f_code.co_filename.startswith(_OURS):
            theirs.append(frame)
        elif theirs and frame.f_globals.get("__name__") not in _BETWEEN:
            return None  # this package asked, for the user
        frame = frame.f_back
    if frame is None:
        return None
    if function := _decorated(theirs[-1:]):
        return _text(function.__name__, function.__qualname__, function.__module__), function.__module__
    named = [f for f in reversed(theirs) if f.f_code.co_name not in DECORATORS]
    if not named:
        return None
    first = named[0]
    if first.f_code.co_name in _APPLIES:  # a function that the user gave
        first = next((f for f in named if not _module(f).startswith("xarray.")), first)
    return _text(first.f_code.co_name, _qualified(first), _module(first)), _module(first)


def _decorated(frames: list[FrameType]) -> FunctionType | None:
    """The public function that a decorator is about to call, which may look at arguments before."""
    for frame in frames:
        inside = (frame.f_locals.get(n) for n in frame.f_code.co_freevars)
        for f in inside if frame.f_code.co_name in DECORATORS else ():
            if isinstance(f, FunctionType) and hasattr(sys.modules.get(_public(f.__module__)), f.__name__):
                return f
    return None


def _public(module: str) -> str:
    return ".".join(part for part in module.split(".") if not part.startswith("_"))


def _qualified(frame: FrameType) -> str:
    """The name of a function, of an object that was called that of its own class."""
    code = frame.f_code
    is_object = code.co_name == "__call__" and code.co_qualname not in _CLASSES and "self" in frame.f_locals
    return f"{type(frame.f_locals['self']).__name__}.__init__" if is_object else code.co_qualname


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _text(name: str, qualified: str, module: str) -> str:
    if name in _SPECIAL:
        return _SPECIAL[name]
    if "PlotAccessor" in qualified:
        return ".plot()" if name == "__call__" else f".plot.{name}()"
    if qualified in _CLASSES:
        return _CLASSES[qualified]
    if module.startswith(POLYNOMIALS):
        return "a polynomial of np.polynomial" if "." in qualified else f"np{module.removeprefix('numpy')}.{name}()"
    if qualified.endswith((".__init__", ".__new__")):  # what was called is the class
        name = qualified = qualified.split(".")[-2]
    if module.startswith("numpy."):
        return _of_numpy(name, module)
    place = _public(module) + "." if module else ""  # none: code that a library has generated
    return f".{name}()" if "." in qualified else f"{place}{name}()"


def _of_numpy(name: str, module: str) -> str:
    if module.startswith(_MASKED):
        return "an operator of a masked array" if name.startswith("__") else f"np.ma.{name}()"
    part = next((p for p in ("linalg.", "fft.") if f".{p}" in f"{module}."), "")
    return f"np.{part}{name}()"


def explained(what: str, instead: str) -> tuple[str, str]:
    """What left, and what to do instead, where a function of another library took it."""
    found = called()
    if found is None:
        return what, instead
    by, module = found
    if by in _SPECIAL.values() or by == ".item()":
        itself = "xarray's and NumPy's functions on the array itself, which stays an array"
        return by, f"{itself} (np.where for a branch, xr.where if it is a DataArray), or {_CONSTANT}"
    name = by.rpartition(".")[2].removesuffix("()")
    if by.startswith((".to_", ".plot", "matplotlib")):
        return by, f"has_aux=True to return the array and do this outside of the function, or {_CONSTANT}"
    if module.partition(".")[0] not in PACKAGES:
        return f"{by}, by {what},", f"{instead}, or {_CONSTANT}"
    return f"{by}, which computes with plain NumPy arrays,", f"{_own(by, name, module)}, or {_CONSTANT}"


def _own(by: str, name: str, module: str) -> str:
    if by in _INSTEAD:
        return _INSTEAD[by]
    if module.startswith("scipy.") and (known := _SCIPY.get(by[6:-2], _SCIPY.get(name, name))) in OPERATIONS:
        return f"ng.{known}(...), which takes positional, named and xarray arrays"
    for start, instead in INSTEAD_OF_MODULES.items():
        if f"{module}.".startswith(start):
            return instead
    if module.startswith("numpy."):
        function = by.removesuffix("()")
        return (
            f"{function}(np.stack([a, b])) for a list of arrays, {function}(ng.positional(a), ...) for a plain array a "
            "beside it"
        )
    return f"ng.xr.{name}(...)" if name in _replacements() else "what has a rule, of xarray, NumPy or namedgrad"


def _replacements() -> Collection[str]:
    """The functions that stand in for those of xarray."""
    return importlib.import_module("namedgrad.xr").__all__
