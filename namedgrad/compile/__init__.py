"""Record a function once, replay its array calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from namedgrad.compile.compiled import Compiled


def compile(f: Callable[..., Any]) -> Compiled:
    """Function with the results of ``f`` that runs ``f`` once and then replays its array calls.

    ``f`` is recorded once per structure of its arguments, dims, vectorized names, shapes, dtypes, backend, values of
    coordinates, and the order in which arrays without names lie in memory.  Later calls run straight-line array calls:
    constants are computed ahead, what does not reach a result is left out, every buffer is freed or written over after
    its last use.

    Parameters
    ----------
    f : callable
        Of DimArrays, positional and plain arrays, xarray objects, numbers, and nested structures of them; also
        ``ng.grad(g)`` and every other transform.

    Returns
    -------
    callable
        ``.source`` is the code that it runs, ``.cache_info()`` counts programs and recordings.

    Raises
    ------
    TraceError
        While recording, where Python would depend on a value: ``bool()``, ``float()``, ``.item()``, ``np.asarray()``.

    Notes
    -----
    - Integers, floats and complex numbers among the arguments are inputs; bools, strings and ``None`` are part of what
      is recorded.  An integer that must steer Python is captured: ``ng.compile(functools.partial(f, n=3))``.
    - What ``f`` captures (closure, globals, defaults, attributes of objects of the user's classes) is read at every
      call: arrays are inputs, another number or object leads to another recording.  Installed packages are taken to
      hold no arrays of their own; those behind a function call are seen by reference.
    - Numbers that Python takes from a captured NumPy array (``float(w[0])``, a branch on it) are those of now, as far
      as a thousand cells tell, spread over the array, whether it has changed.  Pass numbers of larger arrays in which
      single cells change; and those that are taken by ``float(w[0])`` from arrays that serve as operands, too.
    - Values are checked while ``f`` is recorded (all-NaN slices in ``argmax``, negative variances), not after that.
    - Where values are not finite, slower code runs that guards 0 against them, from then on.
    - Floating-point warnings are off, as in every transform.
    - What does not compute with arrays of this library, ``print`` for example, happens at the recording only.
    - Under differentiation, and inside another compiled function, ``f`` itself runs: derivatives are those of ``f``,
      and ``ng.compile(ng.grad(f))`` is the way to compile them.

    Examples
    --------
    >>> import namedgrad as ng
    >>> f = ng.compile(ng.grad(lambda x, a: (a * x * x).sum()))
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> f(x, 3.0).data, f(x, 0.5).data
    (array([ 6., 12.]), array([1., 2.]))
    >>> f.cache_info()
    CacheInfo(programs=1, recordings=1)
    """
    from namedgrad.compile.compiled import Compiled

    return Compiled(f)


__all__ = ["compile"]
