"""Operations that steer differentiation itself."""

from __future__ import annotations

from namedgrad.array import DimArray
from namedgrad.primitive import operation, sample
from namedgrad.trace import innermost


@operation(sample("real(a,b)"), differentiable=False)
def stop_gradient(x: DimArray) -> DimArray:
    """The same value, a constant to every transform.

    Parameters
    ----------
    x : DimArray

    Returns
    -------
    DimArray
        Untraced.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.grad(lambda x: x * ng.stop_gradient(x))(ng.DimArray(3.0, ())).item()
    3.0
    """
    return innermost(x)
