"""The part of ``cupyx.scipy.special`` that there is: SciPy's functions of these names, most of them for real numbers only."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from tests.support.fake_cupy.functions import Ufunc

NAMES = (  # noqa: SIM905 - readable
    "i0 i0e i1 i1e j0 j1 y0 y1 yn ndtr log_ndtr ndtri logit expit log_expit entr huber kl_div rel_entr gamma "
    "gammaln loggamma gammasgn gammainc gammaincinv gammaincc gammainccinv beta betaln betainc betaincinv rgamma digamma "
    "poch erf erfc erfcx erfinv erfcinv expn zeta cbrt exp10 exp2 log1p expm1 xlogy xlog1py"
).split()
COMPLEX = {"gamma", "loggamma", "rgamma", "xlogy", "xlog1py"}


class Real(Ufunc):
    """A function of real numbers only."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(np.dtype(getattr(x, "dtype", type(x))).kind == "c" for x in args):
            raise TypeError(f"Wrong type of arguments for {self.__name__}")
        return super().__call__(*args, **kwargs)


def special_functions(with_at: list[str]) -> dict[str, Any]:
    """The functions, by name."""
    zeta = scipy.special._ufuncs._zeta
    found = {name: zeta if name == "zeta" else getattr(scipy.special, name) for name in NAMES}
    return {name: (Ufunc if name in COMPLEX else Real)(f, with_at) for name, f in found.items()}
