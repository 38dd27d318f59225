"""Sphinx: the pages, built with warnings as errors, with or without a network."""

import doctest
import sys
import urllib.request
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "namedgrad"
author = "The namedgrad developers"
project_copyright = "The namedgrad developers"
version = release = version_of("namedgrad")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "complete",
    "figures",
    "numpy_functions",
    "operations",
]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
nitpicky = True

# ------------------------------------------------------------------------------------------------ reference

autosummary_generate = True
autodoc_typehints = "none"  # types stand in the Parameters of each docstring
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
doctest_default_flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE  # as pytest's, see pyproject.toml
copybutton_prompt_text = ">>> |\\.\\.\\. "
copybutton_prompt_is_regexp = True


# ------------------------------------------------------------------------------------------------ gallery

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "",  # every script runs
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "min_reported_time": 1e9,  # scripts say what they measure
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
}

# ------------------------------------------------------------------------------------------------ other projects' pages

OTHERS = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "xarray": "https://docs.xarray.dev/en/stable/",
}


def inventory(name: str, url: str) -> Path | None:
    """The list of another project's pages, fetched once; None without a network."""
    path = HERE / "_build" / "inventories" / f"{name}.inv"
    if not path.exists():
        try:
            with urllib.request.urlopen(url + "objects.inv", timeout=5) as answer:  # noqa: S310 - https, written above
                content = answer.read()
        except OSError:
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path


found = {name: inventory(name, url) for name, url in OTHERS.items()}
intersphinx_mapping = {name: (OTHERS[name], str(path)) for name, path in found.items() if path}
# A link to a project whose pages cannot be read stays text; every link within these pages must hold.
nitpick_ignore_regex = [(r"py:.*", rf"{name}(\..*)?") for name in OTHERS if not found[name]]

# ------------------------------------------------------------------------------------------------ looks

html_theme = "furo"
html_title = "namedgrad"
html_static_path = ["_static"]
html_css_files = ["namedgrad.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#7fb7dd", "color-brand-content": "#7fb7dd"},
}
html_show_sphinx = False


def setup(app: Sphinx) -> None:
    """Fold the sidebar's branches that a page is not in: all 700 pages on each took two thirds of the build."""
    before_the_theme = 100
    app.connect("html-page-context", lambda *page: _fold(page[3]), priority=before_the_theme)


def _fold(context: dict[str, Any]) -> None:
    whole = context["toctree"]
    context["toctree"] = lambda **options: whole(**options | {"collapse": True})
