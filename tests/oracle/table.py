"""PyTorch's operators by the names that they have here: NumPy's functions and namedgrad's, on positional arrays."""

from tests.oracle import elementwise, layers, products, shape
from tests.oracle.registry import LEFT_OUT, MOST, NOT_HERE, REAL_ONLY, RTOL, TABLE, THEIRS, find

__all__ = ["LEFT_OUT", "MOST", "NOT_HERE", "REAL_ONLY", "RTOL", "TABLE", "THEIRS", "elementwise", "find", "layers", "products", "shape"]
