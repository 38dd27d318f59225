"""Record a function once, replay its array calls."""

from __future__ import annotations

from namedgrad.compile.compiled import Compiled, compile

__all__ = ["Compiled", "compile"]
