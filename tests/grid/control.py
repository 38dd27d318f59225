"""Steering derivatives."""

from tests.support.grid import entry

entry("stop_gradient", lambda x: x)
