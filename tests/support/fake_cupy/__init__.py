"""A stand-in for CuPy on machines without a GPU: NumPy underneath, CuPy's names, parameters and refusals on top.

``surface.json`` holds the functions of CuPy and their parameters, as the package itself reports them; what is not there
does not exist here either.  The differences from NumPy that a program notices are reproduced:

* nothing is converted implicitly: ``np.asarray`` of an array raises, functions refuse lists and NumPy arrays;
* ufuncs have no ``where=``, few have ``reduce``, ``accumulate`` or ``at``;
* reductions give 0-d arrays, never scalars;
* integer arrays wrap where they are out of range; of several writers to one cell any may win;
* ``remainder`` and ``logaddexp2`` are rounded more, and ``sinc`` of NaN is 1;
* ``linalg.solve`` wants equal batch shapes, and a factorisation that fails gives arbitrary numbers instead of an error;
  eigenvectors and singular vectors have other directions.

Kernel launches, waits for the device and copies to it are counted in :data:`stats`.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.fake_cupy.array import NAMESPACE, ndarray
from tests.support.fake_cupy.counts import Counts, stats
from tests.support.fake_cupy.functions import Ufunc, checked, freely, function, of_less
from tests.support.fake_cupy.special import special_functions

SURFACE: dict[str, Any] = json.loads(Path(__file__).with_name("surface.json").read_text(encoding="utf-8"))
__version__ = SURFACE["version"]
pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None
float16, float32, float64, complex64, complex128 = np.float16, np.float32, np.float64, np.complex64, np.complex128
int8, int16, int32, int64, bool_ = np.int8, np.int16, np.int32, np.int64, np.bool_


def _functions(place: Any, surface: dict[str, Any]) -> dict[str, Any]:
    found = {n: (getattr(place, n), parameters) for n, parameters in surface.items() if hasattr(place, n)}
    return {
        n: Ufunc(f, SURFACE["at"]) if isinstance(f, np.ufunc) else function(f, n, parameters)
        for n, (f, parameters) in found.items()
    }


NAMESPACE.update(_functions(np, SURFACE[""]))
NAMESPACE.update({name: of_less(name) for name in ("logaddexp2", "remainder", "sinc")})
fft = types.SimpleNamespace(**_functions(np.fft, SURFACE["fft"]))
linalg = types.SimpleNamespace(**_functions(np.linalg, SURFACE["linalg"]))
for _name in ("solve", "inv", "cholesky"):
    setattr(linalg, _name, checked(_name))
for _name in ("eigh", "svd"):
    setattr(linalg, _name, freely(_name))
NAMESPACE.update(linalg=linalg, fft=fft)
globals().update(NAMESPACE)


SPECIAL = types.ModuleType("cupyx.scipy.special")
vars(SPECIAL).update(special_functions(SURFACE["at"]))
PACKAGES = {"cupyx": types.ModuleType("cupyx"), "cupyx.scipy": types.ModuleType("cupyx.scipy"), SPECIAL.__name__: SPECIAL}
vars(PACKAGES["cupyx"])["scipy"] = PACKAGES["cupyx.scipy"]
vars(PACKAGES["cupyx.scipy"])["special"] = SPECIAL


def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """This module in place of CuPy, also where there is one; the counts start again."""
    for name, module in {"cupy": sys.modules[__name__], **PACKAGES}.items():
        monkeypatch.setitem(sys.modules, name, module)
    stats.reset()
    return sys.modules[__name__]


def asnumpy(x: Any) -> Any:
    """A host copy."""
    return x.get() if isinstance(x, ndarray) else np.asarray(x)


__all__ = ["Counts", "asnumpy", "fft", "installed", "linalg", "ndarray", "stats"]
