"""Pages of the operations, made from the registry: one per family with a table, one per operation."""

import inspect
import re
from pathlib import Path

import numpy as np
import xarray as xr
from sphinx.application import Sphinx

from namedgrad.ops import FUNCTIONS
from namedgrad.primitive import OPERATIONS, Operation
from namedgrad.rules.dims import DIM_PARAMETERS

FAMILIES = {  # title and introduction
    "elementwise": ("Arithmetic and elementwise functions", "Operands are aligned by name; no dim is consumed."),
    "complex": ("Complex numbers", "Gradients of a real loss are dL/dx + i dL/dy; a real operand gets a real one."),
    "special": ("Special functions", "SciPy's, elementwise, with derivatives in their parameters where there are any."),
    "activations": ("Activations", "Elementwise, with PyTorch's derivative at each kink."),
    "losses": ("Losses", "``dim`` names what is reduced (all dims by default), ``reduction`` how; all else is batch."),
    "reductions": ("Reductions", "``dim`` names what is reduced. Missing values are left out unless ``skipna=False``."),
    "scans": ("Scans", "Cumulative along a dim."),
    "sorting": ("Order", "The order is that at the point; ties are stable in a sort, and share equally elsewhere."),
    "movement": ("Shape and position", "Cells move, or are repeated; each gradient moves back, or is summed."),
    "indexing": ("Gather and scatter", "One linear index map and its transpose; duplicates accumulate."),
    "windows": ("Windows, convolution and pooling", "On one view of strided windows, and its transpose, overlap-add."),
    "resampling": ("Resampling and interpolation", "Linear in the data; differentiable in the places too."),
    "contraction": ("Products summed by name", "Each is lowered to one batched matrix product."),
    "linalg": ("Linear algebra", "``dims`` names rows and columns; every other dim is batch."),
    "fourier": ("Fourier transforms", "NumPy's and SciPy's, along named dims."),
    "signal": ("Signal and calculus", "Along one dim; coordinates may be differentiated too."),
    "layers": ("Layers", "Normalisation, attention and recurrence, with dims named instead of placed."),
    "random": ("Random draws", "From an explicit generator; gradients flow to the parameters of the distribution."),
    "control": ("Steering derivatives", "What a derivative should not see."),
}

PAGE = """{name}
{line}

.. currentmodule:: {module}

.. autofunction:: {name}
"""

FAMILY = """{title}
{line}

.. currentmodule:: namedgrad

{intro}

.. list-table::
   :header-rows: 1
   :class: operations
   :widths: 28 32 12 18 10

   * - call
     - gives
     - dims
     - derivative
     - elsewhere
{rows}

.. toctree::
   :hidden:

{pages}
"""

ROW = """   * - :func:`{name} <{module}.{name}>`\\ ``{signature}``{method}
     - {summary}
     - {dims}
     - {derivative}
     - {elsewhere}
"""

INDEX = """.. toctree::
   :maxdepth: 1

{pages}
"""

NAMES = r"(?:numpy|np|scipy|xarray|torch)(?:\.\w+)+"


def home(name: str) -> str:
    """Where a function is found: the branch has the name of the condition number."""
    return "namedgrad.linalg" if name == "cond" else "namedgrad"


def call_of(name: str) -> str:
    """The arguments without their annotations, which the page of the operation explains."""
    signature = inspect.signature(FUNCTIONS[name])
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty)).replace(", /", "")


def section(doc: str, title: str) -> str:
    """The text of a section of a numpydoc docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, flags=re.DOTALL | re.MULTILINE)
    return found.group(1).strip() if found else ""


def derivative(op: Operation, notes: str) -> str:
    """What the notes say of it."""
    if not op.differentiable:
        return "none"
    lines = [line.removeprefix("|").strip() for line in notes.splitlines() if line.startswith("| Derivative")]
    if lines:
        return "; ".join(line.removeprefix("Derivative ") for line in lines)
    sentences = re.split(r"(?<=[.;])\s+", " ".join(notes.split()))
    return next((s for s in sentences if re.search(r"derivative|gradient|cotangent", s, re.IGNORECASE)), "both modes")


def elsewhere(op: Operation, doc: str) -> str:
    """Functions of other libraries of the same meaning: those of the same name, and those that the docstring names."""
    text = doc.split("Examples\n", maxsplit=1)[0]
    found = dict.fromkeys(name.replace("numpy.", "np.") for name in re.findall(NAMES, text))
    for prefix, place in (("np.", np), ("xr.DataArray.", xr.DataArray)):
        if hasattr(place, op.name):
            found[prefix + op.name] = None
    return ", ".join(f"``{name}``" for name in found if name not in {"np.ufunc", "np.ndarray"})


def dims(op: Operation) -> str:
    """The arguments that name the dims on which it works; all others are batch."""
    return ", ".join(f"``{n}``" for n in inspect.signature(op.function).parameters if n in DIM_PARAMETERS) or "none"


def row(op: Operation) -> str:
    doc = inspect.getdoc(FUNCTIONS[op.name]) or ""
    return ROW.format(
        name=op.name,
        module=home(op.name),
        signature=call_of(op.name),
        method=", method" if op.method else "",
        summary=doc.split("\n\n")[0].replace("\n", " "),
        dims=dims(op),
        derivative=derivative(op, section(doc, "Notes")),
        elsewhere=elsewhere(op, doc),
    )


def families() -> dict[str, list[Operation]]:
    """Operations by family, in the order of the table above."""
    found: dict[str, list[Operation]] = {name: [] for name in FAMILIES}
    for op in OPERATIONS.values():
        found[op.family].append(op)
    return {name: ops for name, ops in found.items() if ops}


def write(path: Path, text: str) -> None:
    """Write only what has changed, so that only that is built again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "generated" / "operations"
    (folder / "families").mkdir(parents=True, exist_ok=True)
    for name in OPERATIONS:
        write(folder / f"{name}.rst", PAGE.format(name=name, module=home(name), line="=" * len(name)))
    for family, ops in families().items():
        title, intro = FAMILIES[family]
        text = FAMILY.format(
            title=title,
            line="=" * len(title),
            intro=intro,
            rows="".join(map(row, ops)),
            pages="\n".join(f"   ../{op.name}" for op in ops),
        )
        write(folder / "families" / f"{family}.rst", text)
    pages = "\n".join(f"   generated/operations/families/{family}" for family in families())
    write(folder.parent / "operations.inc", INDEX.format(pages=pages))
    methods = sorted(op.name for op in OPERATIONS.values() if op.method)
    write(folder.parent / "methods.inc", ", ".join(f":func:`{name} <namedgrad.{name}>`" for name in methods) + ".\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", generate, priority=100)
    return {"parallel_read_safe": True}
