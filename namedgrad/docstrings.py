"""Docstrings of elementwise operations, made from their declarations."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np

from namedgrad.array import TraceError, make
from namedgrad.axes import NONE
from namedgrad.backends.text import Formula, formula
from namedgrad.linear import Mask, Pair, ops
from namedgrad.primitive.elementwise import Elementwise
from namedgrad.primitive.registry import Operation

_OPERANDS = {1: ("x",), 2: ("x", "y"), 3: ("cond", "x", "y")}
_VALUES = (  # of the first and of the second operand, in domains where the usual ones do not fit
    (
        {
            "above_one": "[1.25, 1.75]", "bool": "[True, False]", "negative": "[-1.5, -0.5]", "int": "[12, 5]",
            "order": "[1, 2]", "count": "[1, 2]", "trials": "[5, 6]", "tail": "[0.1, 0.2]", "above_count": "[5, 6]",
        },
        "[0.25, 0.75]",
    ),
    ({"bool": "[False, True, True]", "int": "[1, 2, 3]"}, "[0.5, 1.0, 2.0]"),
)  # fmt: skip
_TORCH = {  # PyTorch's name, where it is another one than NumPy's
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "invert": "bitwise_not", "equal": "eq", "not_equal": "ne", "rint": "round",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "power": "pow",
}  # fmt: skip
_NOT_IN_TORCH = {"cbrt", "fabs", "spacing"}

_TEXT = """{summary}

Elementwise, and otherwise as {reference}{ufunc}.

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
    about = getattr(prim, "about", None)
    names = about.operands if about else _OPERANDS[len(prim.partials)]
    several = len(names) > 1
    library = "scipy.special" if about else "numpy"
    reference = f"{library}.{about.scipy if about else prim.kernel}"
    text = _TEXT.format(
        summary=about.summary if about else _summary(prim),
        reference="this" if op.name == "log1mexp" else f":obj:`{reference}`",
        ufunc=f"; ``np.{op.name}`` of a DimArray calls it" if hasattr(np, op.name) else "",
        operands=", ".join(names),
        faces=_FACES.format(meet=_MEET if several else ""),
        error=_ERROR if several else "",
        derivative="\n".join([*_derivatives(prim, names), *_counterpart(op, about)]),
        example="\n".join(_special_example(op, names, reference) if about else _example(op, names, prim.kernel)),
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
    texts = [None if d is None else _partial(d, names) for d in prim.partials]
    found = [(n, text) for n, text in zip(names, texts, strict=True) if text is not None]
    if not found:
        return ["The result is constant almost everywhere: no gradient passes."]
    lines = [f"| Derivative in ``{n}``: ``{text}``" for n, text in found]
    return [*lines, "| Here ``out`` is the result."] if any(re.search(r"\bout\b", t) for _, t in found) else lines


def _partial(partial: Any, names: tuple[str, ...]) -> str:
    """A partial derivative as a formula: the declaration, run on the text backend."""
    if isinstance(partial, int):
        return str(partial)
    try:
        factor = partial(*(make(Formula(n), (), NONE) for n in ("out", *names)))
    except TraceError:
        return "none"
    if isinstance(factor, Pair):
        factor = ops.mul(factor.g, factor.factor)
    return f"where({formula(factor.where.raw).text}, 1, 0)" if isinstance(factor, Mask) else formula(factor.raw).text


def _counterpart(op: Operation, about: Any) -> list[str]:
    """PyTorch's function of the same meaning, and where a formula comes from."""
    torch = about.torch if about else _TORCH.get(op.name, op.name)
    lines = []
    if torch and op.name not in _NOT_IN_TORCH:
        names = torch.split(", ") if about else [f"torch.{torch}"]
        lines = ["", f"PyTorch: {', '.join(f'``{n}``' for n in names)}."]
    return [*lines, "", about.source] if about and about.source else lines


def _values(op: Operation) -> list[str]:
    domains = [operand.split("(")[0] for operand in op.samples[0].operands]
    return [table.get(d, default) for d, (table, default) in zip(domains, _VALUES)]


def _special_example(op: Operation, names: tuple[str, ...], reference: str) -> list[str]:
    """Two points, and SciPy's answer."""
    domains = [operand.split("(")[0] for operand in op.samples[0].operands]
    values = [_VALUES[0][0].get(d, _VALUES[0][1]) for d in domains]
    arrays = [f'>>> {n} = ng.DimArray({v}, ("i",))' for n, v in zip(names, values, strict=True)]
    theirs = f"{reference}({', '.join(values)})" if op.name != "log1mexp" else "np.log(1 - np.exp(x.data))"
    same = f">>> np.allclose(ng.{op.name}({', '.join(names)}).data, {theirs})"
    return [">>> import numpy as np, scipy.special, namedgrad as ng", *arrays, same, "True"]


def _example(op: Operation, names: tuple[str, ...], kernel: str) -> list[str]:
    """Operands of different dims, and NumPy's answer for all pairs of their elements."""
    values = _values(op)
    arrays = [f'>>> {n} = ng.DimArray({v}, ("{n}",))' for n, v in zip(names, values)]
    imports = [">>> import numpy as np, namedgrad as ng", *arrays]
    ours = f"ng.{op.name}({', '.join(names)})"
    if len(names) == 1:
        return [*imports, f">>> np.allclose({ours}.data, np.{kernel}({values[0]}))", "True"]
    if len(names) == 2:
        same = f">>> np.allclose({ours}.data, np.{kernel}.outer({values[0]}, {values[1]}))"
        return [*imports, f">>> {ours}.dims", "('x', 'y')", same, "True"]
    call = f">>> ng.{op.name}({', '.join(names[:2])}, -1.0).data"
    return [*imports, call, "array([[ 0.5,  1. ,  2. ],", "       [-1. , -1. , -1. ]])"]
