"""Linear algebra on named matrices: ``dims=(row, column)``; every other dim is a batch.

Rules are written on two private names, rows and columns.
"""

from namedgrad.rules.linalg.determinants import det, logdet, slogdet, trace
from namedgrad.rules.linalg.factors import cholesky, lu, qr
from namedgrad.rules.linalg.functions import expm, logm, matrix_power, sqrtm
from namedgrad.rules.linalg.numbers import cond, matrix_norm, matrix_rank
from namedgrad.rules.linalg.products import cross, multi_dot
from namedgrad.rules.linalg.singular import svd
from namedgrad.rules.linalg.solving import inv, lstsq, pinv, solve
from namedgrad.rules.linalg.spectral import eig, eigh, eigvals, eigvalsh
from namedgrad.rules.linalg.triangular import solve_triangular

__all__ = [
    "cholesky", "cond", "cross", "det", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "logdet", "logm", "lstsq", "lu",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "pinv", "qr", "slogdet", "solve", "solve_triangular", "sqrtm",
    "svd", "trace",
]  # fmt: skip
