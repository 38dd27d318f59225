"""Products summed by name, and what is measured or built from them: distances, Kronecker products, blocks."""

from namedgrad.rules.contraction.products import dot, inner, matmul, outer, vdot, vecdot

__all__ = ["dot", "inner", "matmul", "outer", "vdot", "vecdot"]
