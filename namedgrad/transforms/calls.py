"""Calling the user's function, and saying where in it an error arose."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from namedgrad.array import TraceError


def run(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``f(*args, **kwargs)``; a TraceError comes out as itself.

    NumPy turns it into "setting an array element", and compiled code that went on with it has a SystemError.
    An error from within a library gets a note that names the user's line, and a TraceError, which is about that line,
    ends there.
    """
    try:
        return f(*args, **kwargs)
    except Exception as error:
        cause = error.__cause__
        if not (isinstance(error, (ValueError, SystemError)) and isinstance(cause, TraceError)):
            _point(error, error.__traceback__)
            raise
        _point(cause, error.__traceback__)
    raise cause from None  # out here, or each would be in the chain of the other


_NOTE = "in your function, "


@functools.cache
def _directories() -> tuple[str, ...]:
    """Of Python, of installed packages, and of this one."""
    import sysconfig

    places = [*map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")), str(Path(__file__).parents[1])]
    return tuple({str(p) + "/" for place in places for p in (place, Path(place).resolve())})


ELSEWHERE = ("/site-packages/", "/dist-packages/")  # a user's own, those below a virtual environment, and Debian's


DECORATORS = {  # names that say nothing
    "__ua_function__", "_call_possibly_missing_method", "_wrapper", "axis_nan_policy_wrapper", "func", "inner",
    "inner_f", "method", "wrapped", "wrapped_func", "wrapper",
}  # fmt: skip


@functools.cache
def is_library(file: str) -> bool:
    """Whether a file is not the user's own: part of Python, of an installed package, or of this one."""
    if file.startswith((*_directories(), "<frozen", "<__array_function__")):
        return True
    return any(place in file.replace("\\", "/") for place in ELSEWHERE)


def _point(error: BaseException, traceback: TracebackType | None) -> None:
    """Note the user's line, the last one outside of libraries, on an error that arose below it."""
    last, tb = None, traceback
    while tb is not None:
        if not is_library(tb.tb_frame.f_code.co_filename):
            last = tb
        tb = tb.tb_next
    if last is None or last.tb_next is None or any(n.startswith(_NOTE) for n in getattr(error, "__notes__", ())):
        return
    code, line = last.tb_frame.f_code, last.tb_lineno
    text = linecache.getline(code.co_filename, line, last.tb_frame.f_globals).strip()
    tb = last.tb_next
    while tb.tb_next is not None and tb.tb_frame.f_code.co_name in DECORATORS:
        tb = tb.tb_next
    operation = tb.tb_frame.f_code.co_qualname
    error.add_note(f'{_NOTE}File "{code.co_filename}", line {line}, in {code.co_name}, by {operation}:\n    {text}')
    if isinstance(error, TraceError):
        last.tb_next = None
