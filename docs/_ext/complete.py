"""Warns of a public name that has no page."""

import inspect

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import namedgrad as ng


def public_names() -> list[str]:
    """Functions and classes that a user finds in the package."""
    found = {name: getattr(ng, name) for name in dir(ng) if not name.startswith("_")}
    return [n for n, v in found.items() if callable(v) and inspect.unwrap(v).__module__.split(".")[0] == "namedgrad"]


def check(_: Sphinx, env: BuildEnvironment) -> None:
    documented = env.get_domain("py").objects
    for name in public_names():
        if f"namedgrad.{name}" not in documented:
            logging.getLogger(__name__).warning("namedgrad.%s has no page in the reference", name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True}
