"""The four forms of declaration, and the registry that everything public is generated from.

=============  ==========================================  =====================================================
form           declares                                    linear map
=============  ==========================================  =====================================================
elementwise    kernel + one partial per operand            a scaling
linear         kernel along named axes + its transpose     the operation itself
contract       two operands, the names summed              bilinear: contractions with the other operand
core           gufunc signature + kernel + pullback        the pullback; its transpose unless a pushforward is given
=============  ==========================================  =====================================================

A kernel is the name of a function that every backend has.  Partials, transposes and pullbacks are written in traced
operations, on ``core`` names where the operation has core dims, so every order of derivative and any number of batch
axes come for free.  They are declared holomorphically: the engine conjugates.
"""

from namedgrad.primitive.contract import Contract
from namedgrad.primitive.core import core, zeros_of
from namedgrad.primitive.elementwise import Elementwise, elementwise, mask
from namedgrad.primitive.linear import LinearCore, linear
from namedgrad.primitive.reduction import Reduction, reduction
from namedgrad.primitive.registry import OPERATIONS, Operation, Primitive, Sample, check_sizes, operation, place, sample

__all__ = [
    "OPERATIONS", "Contract", "Elementwise", "LinearCore", "Operation", "Primitive", "Reduction", "Sample",
    "check_sizes", "core", "elementwise", "linear", "mask", "operation", "place", "reduction", "sample", "zeros_of",
]  # fmt: skip
