"""Shape and order by name."""

from namedgrad.rules.movement.coarsening import Coarsen, coarsen
from namedgrad.rules.movement.cuts import core_dims, core_size, part_of, slice_of
from namedgrad.rules.movement.differences import diff, ediff1d
from namedgrad.rules.movement.joining import concat, join
from namedgrad.rules.movement.moves import flip, roll, rot90, shift
from namedgrad.rules.movement.names import devectorize, rename, swap_dims, vectorize
from namedgrad.rules.movement.order import broadcast, broadcast_like, expand_dims, squeeze, transpose
from namedgrad.rules.movement.padding import pad
from namedgrad.rules.movement.parts import chunk, head, split_array, tail, thin, unbind
from namedgrad.rules.movement.repeating import meshgrid, repeat, tile
from namedgrad.rules.movement.stacking import merge, split, stack, unstack
from namedgrad.rules.movement.triangles import diag_embed, diagonal, tril, triu

__all__ = [
    "Coarsen",
    "broadcast",
    "broadcast_like",
    "chunk",
    "coarsen",
    "concat",
    "core_dims",
    "core_size",
    "devectorize",
    "diag_embed",
    "diagonal",
    "diff",
    "ediff1d",
    "expand_dims",
    "flip",
    "head",
    "join",
    "merge",
    "meshgrid",
    "pad",
    "part_of",
    "rename",
    "repeat",
    "roll",
    "rot90",
    "shift",
    "slice_of",
    "split",
    "split_array",
    "squeeze",
    "stack",
    "swap_dims",
    "tail",
    "thin",
    "tile",
    "transpose",
    "tril",
    "triu",
    "unbind",
    "unstack",
    "vectorize",
]
