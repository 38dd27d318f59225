"""Calling the user's function, and saying where in it an error arose."""

from __future__ import annotations

import functools
import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from namedgrad.array import REFUSAL, TraceError


def run(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``f(*args, **kwargs)``; a TraceError comes out as itself.

    NumPy turns it into "setting an array element", and compiled code that went on with it has a SystemError, or drops
    it and has a ValueError; Python code that is called with it still pending finds no methods of its classes. Packages
    make it the cause of an error of their own, as pint does that of ``quantity[i] = x``.
    An error from within a library gets a note that names the user's line, and a TraceError, which is about that line,
    ends there.
    """
    REFUSAL.last = None
    try:
        return f(*args, **kwargs)
    except Exception as error:
        cause = _refusal(error)
        if cause is None:
            _point(error, error.__traceback__)
            raise
        _point(cause, error.__traceback__)
    raise cause from None  # out here, or each would be in the chain of the other


def _refusal(error: BaseException) -> TraceError | None:
    """What an error stands for: its cause, or the last one, if that was asked for on the very line of the error."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    expected = isinstance(error, (ValueError, SystemError, AttributeError))
    made_of_it = is_library(frame.f_code.co_filename) and not isinstance(error, TraceError)
    if isinstance(error.__cause__, TraceError) and (expected or made_of_it):
        return error.__cause__
    if not expected:
        return None
    message, *place = REFUSAL.last or ("",)
    if isinstance(error, AttributeError):
        there = bool(message) and str(error).startswith("__")  # it says no more than the name of a method
    else:
        there = place == [frame.f_code, line]
    return TraceError(message) if there else None


_NOTE = "in your function, "


@functools.cache
def _directories() -> tuple[str, ...]:
    """Of Python, of installed packages, and of this one."""
    import sysconfig

    places = [*map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")), str(Path(__file__).parents[1])]
    return tuple({str(p) + "/" for place in places for p in (place, Path(place).resolve())})


ELSEWHERE = ("/site-packages/", "/dist-packages/")  # a user's own, those below a virtual environment, and Debian's
PACKAGES = {"namedgrad", "numpy", "pandas", "scipy", "xarray"}  # of arrays; others are programs like the user's own


DECORATORS = {  # names that say nothing
    "__ua_function__", "_call_possibly_missing_method", "_wrapper", "axis_nan_policy_wrapper", "func", "inner",
    "inner_f", "method", "wrapped", "wrapped_func", "wrapper",
}  # fmt: skip


@functools.cache
def is_library(file: str) -> bool:
    """Whether a file is not the user's own: part of Python, of an installed package, or of this one."""
    if file.startswith((*_directories(), "<frozen", "<__array_function__")):
        return True
    return _is_installed(file)


def _is_installed(file: str) -> bool:
    return any(place in file.replace("\\", "/") for place in ELSEWHERE)


def is_below(frame: FrameType) -> bool:
    """Whether a frame is not of the user's own code: of a library, or of code that one generated for a decorator."""
    return "__name__" not in frame.f_globals or is_library(frame.f_code.co_filename)


def _is_of_program(frame: FrameType) -> bool:
    """Whether a frame is one of an installed package that uses arrays, as the user's own program does."""
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return _is_installed(frame.f_code.co_filename) and package not in PACKAGES


def _place(tb: TracebackType) -> str:
    code = tb.tb_frame.f_code
    return f'File "{code.co_filename}", line {tb.tb_lineno}, in {code.co_name}'


def _text(tb: TracebackType) -> str:
    return linecache.getline(tb.tb_frame.f_code.co_filename, tb.tb_lineno, tb.tb_frame.f_globals).strip()


def _point(error: BaseException, tb: TracebackType | None) -> None:
    """Note the user's line, the last one outside of libraries, on an error from below it, and a package's own line."""
    last = below = None
    while tb is not None:
        if not is_below(tb.tb_frame):
            last, below = tb, None
        elif _is_of_program(tb.tb_frame):
            below = tb
        tb = tb.tb_next
    if last is None or last.tb_next is None or any(n.startswith(_NOTE) for n in getattr(error, "__notes__", ())):
        return
    tb = last.tb_next
    while tb.tb_next is not None and tb.tb_frame.f_code.co_name in DECORATORS:
        tb = tb.tb_next
    operation = tb.tb_frame.f_code.co_qualname
    there = "" if below is None else f"\nthere, {_place(below)}:\n    {_text(below)}"
    error.add_note(f"{_NOTE}{_place(last)}, by {operation}:\n    {_text(last)}{there}")
    if isinstance(error, TraceError):
        last.tb_next = None
