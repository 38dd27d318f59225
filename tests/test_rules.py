"""What the architecture promises of the text of the rules: names, never positions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import namedgrad as ng

ROOT = Path(ng.__file__).parent
RULES = sorted((ROOT / "rules").rglob("*.py"))
CORE = ["axes.py", "linear.py", "trace.py", "primitive"]
CORE_LINES = 1_100

POSITIONAL = {"shape", "data", "strides", "T", "swapaxes", "moveaxis"}
BY_ORDER = {"getitem", "_unnamed_index", "expand_dims"}  # a[0, :, ...], unnamed indices and axis= are about positions
ON_PLAIN_ARRAYS = {  # look at values where that is free, or plan on the host
    "_check", "_over", "_sorted", "_those_that_failed", "gaussian_nll_loss", "laid_out", "members",
}
PERMUTING = {"transpose", "swapaxes", "moveaxis", "rollaxis"}


def _classes_with_lowering(tree: ast.Module) -> list[ast.ClassDef]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(isinstance(f, ast.FunctionDef) and f.name == "lower" for f in node.body)
    ]


def _outside(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node but those in the ``lower`` methods of primitives, where they meet raw arrays."""
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in BY_ORDER | ON_PLAIN_ARRAYS:
            inside.update(ast.walk(node))
    for node in _classes_with_lowering(tree):
        for f in node.body:
            if isinstance(f, ast.FunctionDef) and f.name == "lower":
                inside.update(ast.walk(f))
    return (node for node in ast.walk(tree) if node not in inside)


@pytest.mark.parametrize("path", RULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_rules_know_no_positions(path: Path) -> None:
    found = []
    for node in _outside(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in POSITIONAL and not _is_backend(node):
            found.append(f"line {node.lineno}: .{node.attr}")
        if isinstance(node, ast.keyword) and node.arg == "axis":
            found.append(f"line {node.value.lineno}: axis=")
    assert not found


def _is_backend(node: ast.Attribute) -> bool:
    """``backend.reshape`` is a kernel; ``np...`` works on host constants, a ``matrix`` is one of SciPy's."""
    return isinstance(node.value, ast.Name) and node.value.id in {"backend", "np", "matrix"}


MODULES = [p for p in sorted(ROOT.rglob("*.py")) if p.relative_to(ROOT).parts[0] not in {"backends", "positional", "xarray", "fit"}]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_permutations_are_planned_in_one_place(path: Path) -> None:
    if path.name == "axes.py":
        return
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PERMUTING:
            assert not (isinstance(node.func.value, ast.Name) and node.func.value.id == "np"), f"{path.name}:{node.lineno}"
        if isinstance(node, ast.Attribute) and node.attr in PERMUTING and isinstance(node.value, ast.Name):
            # kernels are called with a permutation that axes.py has planned
            # (``self.transpose`` is the transposed rule of a linear operation)
            assert node.value.id in {"backend", "NUMPY", "movement", "backends", "self"}, f"{path.name}:{node.lineno} {ast.unparse(node)}"


def _code_lines(path: Path) -> int:
    """Lines that hold code: no comments, no docstrings, no blank lines."""
    tree = ast.parse(path.read_text())
    docs: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None:
            docs.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))  # type: ignore[operator]
    lines = path.read_text().splitlines()
    return sum(1 for k, line in enumerate(lines, 1) if line.strip() and not line.strip().startswith("#") and k not in docs)


def test_the_core_is_small() -> None:
    files = [f for name in CORE for f in ([ROOT / name] if name.endswith(".py") else sorted((ROOT / name).glob("*.py")))]
    assert sum(_code_lines(f) for f in files) <= CORE_LINES


def test_no_file_is_large() -> None:
    large = {str(p.relative_to(ROOT)): n for p in ROOT.rglob("*.py") if (n := _code_lines(p)) > 400}
    assert not large
