"""Each layer imports only from those below it, as docs/explanation/architecture.rst promises."""

import ast
import re
from pathlib import Path

import pytest

import namedgrad as ng

ROOT = Path(ng.__file__).parent
LAYERS = [
    {"axes", "backends", "later"},
    {"array"},
    {"linear", "marks", "versions"},
    {"trace"},
    {"squares"},
    {"primitive"},
    {"rules", "docstrings"},
    {"ops"},
    {"transforms", "constructors", "linalg"},
    {"random"},
    {"testing", "positional", "compile"},
    {"xarray", "fit"},
    {"xr"},
    {"__init__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(ROOT.rglob("*.py"))


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """Layers that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{a.name}" for a in node.names]
        else:
            continue
        for name in names:
            head, _, rest = name.partition(".")
            if head == "namedgrad" and rest and rest.split(".")[0] in RANK:
                yield rest.split(".")[0]


def test_every_module_has_a_layer():
    assert {layer_of(m) for m in MODULES} == set(RANK)


@pytest.mark.parametrize(("page", "entry"), [("CONTRIBUTING.md", r"^\| (`.*?) \|"), ("docs/explanation/architecture.rst", r"^   \* - (``.*)")])
def test_the_maps_of_the_tree_name_every_layer(page, entry):
    rows = re.findall(entry, (ROOT.parent / page).read_text(), re.MULTILINE)
    named = {name.removesuffix(".py").strip("/") for row in rows for name in re.findall(r"`(?:namedgrad/)?([\w./]+)`", row)}
    assert named >= set(RANK) - {"__init__", "later"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_nothing_from_above(path):
    own = layer_of(path)
    above = {name for name in imported(path) if RANK[name] > RANK[own]}
    assert not above, f"{own} imports from {sorted(above)}, which are above it"
