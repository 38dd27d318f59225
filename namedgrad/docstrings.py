"""Docstrings of elementwise operations, made from their declarations."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np

from namedgrad.array import make
from namedgrad.axes import NONE
from namedgrad.backends.text import Formula, formula
from namedgrad.linear import Mask
from namedgrad.primitive.elementwise import Elementwise
from namedgrad.primitive.registry import Operation

_OPERANDS = {1: ("x",), 2: ("x", "y"), 3: ("cond", "x", "y")}
_VALUES = (  # of the first and of the second operand, in domains where the usual ones do not fit
    ({"above_one": "[1.25, 1.75]", "bool": "[True, False]"}, "[0.25, 0.75]"),
    ({"bool": "[False, True, True]"}, "[0.5, 1.0, 2.0]"),
)

_TEXT = """{summary}

Elementwise, and otherwise as :obj:`{reference}`{ufunc}.

Parameters
----------
{operands} : DimArray or scalar{faces}

Returns
-------
DimArray{error}

Notes
-----
{derivative}

Examples
--------
{example}
"""
_FACES = """
    {meet}An xarray object, or a positional array, gives an object of the same kind."""
_MEET = "Operands are aligned by name: the result has the dims of all of them. "
_ERROR = """

Raises
------
AxisError
    If a dim has two sizes, or is vectorized in one operand and visible in another."""


def describe_elementwise(prim: Elementwise, op: Operation) -> tuple[str, inspect.Signature]:
    """The docstring of a public elementwise operation, and its signature."""
    names = _OPERANDS[len(prim.partials)]
    several = len(names) > 1
    library = "numpy" if hasattr(np, prim.kernel) else "scipy.special"
    text = _TEXT.format(
        summary=_summary(prim),
        reference=f"{library}.{prim.kernel}",
        ufunc=f"; ``np.{op.name}`` of a DimArray calls it" if hasattr(np, op.name) else "",
        operands=", ".join(names),
        faces=_FACES.format(meet=_MEET if several else ""),
        error=_ERROR if several else "",
        derivative="\n".join(_derivatives(prim, names)),
        example="\n".join(_example(op, names, library, prim.kernel)),
    )
    kind = inspect.Parameter.POSITIONAL_ONLY
    return text, inspect.Signature([inspect.Parameter(n, kind) for n in names])


def _summary(prim: Elementwise) -> str:
    """NumPy's own first sentence."""
    paragraphs = (getattr(getattr(np, prim.kernel, None), "__doc__", None) or "").strip().split("\n\n")
    if len(paragraphs) == 1:  # the first is the signature
        return f"The function ``{prim.kernel}`` of every element."
    sentence = re.split(r"\.\s", paragraphs[1].replace("\n", " ") + " ")[0].removesuffix(".")
    return re.sub("`+", "``", sentence).replace("x1", "x").replace("x2", "y") + "."


def _derivatives(prim: Elementwise, names: tuple[str, ...]) -> list[str]:
    found = [(n, _partial(d, names)) for n, d in zip(names, prim.partials, strict=True) if d is not None]
    if not found:
        return ["The result is constant almost everywhere: no gradient passes."]
    lines = [f"| Derivative in ``{n}``: ``{text}``" for n, text in found]
    return [*lines, "| Here ``out`` is the result."] if any(re.search(r"\bout\b", t) for _, t in found) else lines


def _partial(partial: Any, names: tuple[str, ...]) -> str:
    """A partial derivative as a formula: the declaration, run on the text backend."""
    if isinstance(partial, int):
        return str(partial)
    factor = partial(*(make(Formula(n), (), NONE) for n in ("out", *names)))
    return f"where({formula(factor.where.raw).text}, 1, 0)" if isinstance(factor, Mask) else formula(factor.raw).text


def _example(op: Operation, names: tuple[str, ...], library: str, kernel: str) -> list[str]:
    """Operands of different dims, and NumPy's answer for all pairs of their elements."""
    domains = [operand.split("(")[0] for operand in op.samples[0].operands]
    values = [table.get(d, default) for d, (table, default) in zip(domains, _VALUES)]
    imports = [">>> import numpy as np, namedgrad as ng"]
    if library != "numpy":
        imports.append(">>> import scipy.special")
    arrays = [f'>>> {n} = ng.DimArray({v}, ("{n}",))' for n, v in zip(names, values)]
    ours, theirs = f"ng.{op.name}({', '.join(names)})", f"{'np' if library == 'numpy' else library}.{kernel}"
    if len(names) == 1:
        return [*imports, *arrays, f">>> np.allclose({ours}.data, {theirs}({values[0]}))", "True"]
    if len(names) == 2:
        same = f">>> np.allclose({ours}.data, {theirs}.outer({values[0]}, {values[1]}))"
        return [*imports, *arrays, f">>> {ours}.dims", "('x', 'y')", same, "True"]
    call = f">>> ng.{op.name}({', '.join(names[:2])}, -1.0).data"
    return [*imports, *arrays, call, "array([[ 0.5,  1. ,  2. ],", "       [-1. , -1. , -1. ]])"]
