"""Pages of the operations, made from the registry: one table per family, one page per operation."""

import inspect
from pathlib import Path

from sphinx.application import Sphinx

import namedgrad as ng
from namedgrad.primitive import OPERATIONS, Operation

FAMILIES = {
    "elementwise": "Elementwise",
    "complex": "Complex numbers",
    "reductions": "Reductions",
    "scans": "Scans",
    "sorting": "Order",
    "movement": "Shape and position",
    "indexing": "Indexing",
    "contraction": "Products summed by name",
    "linalg": "Linear algebra",
    "control": "Steering derivatives",
}

PAGE = """{name}
{line}

.. currentmodule:: namedgrad

.. autofunction:: {name}
"""

TABLE = """
{title}
{line}

.. list-table::
   :header-rows: 1
   :class: operations
   :widths: 30 50 10 10

   * - call
     - gives
     - method
     - gradient
"""

ROW = """   * - :func:`{name} <namedgrad.{name}>`\\ ``{signature}``
     - {summary}
     - {method}
     - {gradient}
"""


def call_of(name: str) -> str:
    """The arguments without their annotations, which the page of the operation explains."""
    signature = inspect.signature(getattr(ng, name))
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty)).replace(", /", "")


def row(op: Operation) -> str:
    summary = (inspect.getdoc(getattr(ng, op.name)) or "").split("\n\n")[0].replace("\n", " ")
    return ROW.format(
        name=op.name,
        signature=call_of(op.name),
        summary=summary,
        method="✓" if op.method else "",
        gradient="✓" if op.differentiable else "none",
    )


def families() -> dict[str, list[Operation]]:
    """Operations by family, in the order of the table above; a family that it lacks comes last."""
    found: dict[str, list[Operation]] = {name: [] for name in FAMILIES}
    for op in OPERATIONS.values():
        found.setdefault(op.family, []).append(op)
    return {name: ops for name, ops in found.items() if ops}


def write(path: Path, text: str) -> None:
    """Write only what has changed, so that only that is built again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "generated" / "operations"
    folder.mkdir(parents=True, exist_ok=True)
    for name in OPERATIONS:
        write(folder / f"{name}.rst", PAGE.format(name=name, line="=" * len(name)))
    text = ""
    for family, ops in families().items():
        title = FAMILIES.get(family, family.title())
        text += TABLE.format(title=title, line="-" * len(title)) + "".join(map(row, ops))
    write(folder.parent / "operations.inc", text)
    methods = sorted(op.name for op in OPERATIONS.values() if op.method)
    write(folder.parent / "methods.inc", ", ".join(f":func:`{name} <namedgrad.{name}>`" for name in methods) + ".\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", generate, priority=100)
    return {"parallel_read_safe": True}
