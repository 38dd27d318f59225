"""Linear algebra."""

import numpy as np
import xarray as xr

from tests.support.grid import entry, sample


def cholesky(a, dims, lower=True):
    rest = [d for d in a.dims if d not in dims]
    factor = np.linalg.cholesky(a.transpose(*rest, *dims).to_numpy())
    return xr.DataArray(factor if lower else np.swapaxes(factor, -1, -2).conj(), dims=(*rest, *dims)).transpose(*a.dims)


def solve(a, b, dims):
    inverse = xr.apply_ufunc(np.linalg.inv, a, input_core_dims=[dims], output_core_dims=[dims])
    x = xr.dot(inverse.rename({dims[0]: dims[1], dims[1]: dims[0]}), b, dim=dims[0])
    return x.transpose(*(d for d in dict.fromkeys((*a.dims, *b.dims)) if d in x.dims))


entry("cholesky", cholesky, [sample("hermitian(i,j)", dims=("i", "j")), sample("hermitian(j,i)", dims=("i", "j"), lower=False)])
entry(
    "solve",
    solve,
    samples=[
        sample("cwell(i,j)", "complex(i,a)", dims=("i", "j")),
        sample("well(i,j)", "complex(i)", dims=("i", "j")),
        sample("well(j,a,i)", "real(b,i,a)", dims=("i", "j")),
    ],
)
