"""The accessor ``.grad`` on DataArray, Dataset and DataTree: the object first, the function after it.

>>> import namedgrad, xarray as xr
>>> t = xr.DataArray([1.0, 2.0], dims="x", coords={"x": [10, 20]}, name="t", attrs={"units": "K"})
>>> t.grad(lambda t: (t**2).sum()).values
array([2., 4.])

``.grad`` differentiates a program with respect to data; xarray's ``.differentiate`` goes along a coordinate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import xarray as xr

from namedgrad.transforms import grad as gradients
from namedgrad.transforms import jacobian as jacobians
from namedgrad.transforms.linearize import LinearMap, linearize
from namedgrad.xarray import uses


class Grad:
    """Derivatives of functions of one xarray object.  It holds the object and nothing else.

    Each method forwards to the function of the same name in :mod:`namedgrad`, with the object as first argument:
    ``obj.grad(f, *args, over=..., **kwargs)`` is ``namedgrad.grad(f, over=...)(obj, *args, **kwargs)``.
    """

    __slots__ = ("_obj",)

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def __repr__(self) -> str:
        return f"<.grad of a {type(self._obj).__name__}: call it with a function, .grad(f)>"

    def __call__(
        self, f: Callable[..., Any], /, *args: Any, wrt: Any = 0, over: Any = (), has_aux: bool = False, **kwargs: Any
    ) -> Any:
        """Gradient of ``f(obj, *args, **kwargs)``.

        Parameters
        ----------
        f : callable
            Returns one number, per slice of ``over``; unmodified xarray code.
        *args, **kwargs
            Further arguments of ``f``.
        wrt : name, int or list of them
            A variable or coordinate of the object, by name (in a DataTree, by path); else as for
            :func:`namedgrad.grad`: the object is argument 0, and a name that ``f`` has for an argument means that.
        over, has_aux
            As for :func:`namedgrad.grad`.

        Returns
        -------
        DataArray, Dataset or DataTree
            Like the object: dims, coordinates, name and attributes. ``units`` are those of the result per those of the
            object, where both are known. A Dataset has its float variables. Missing cells get exactly 0. For one
            variable or coordinate by name, a DataArray; for a list of data variables, a Dataset or DataTree of them;
            for a list with coordinates, a dict of DataArrays.

        Notes
        -----
        A dimension coordinate that is differentiated keeps its labels for ``sel`` and alignment, and its values are
        those that move. It does not align with another object's coordinate, which stays where it is: that is an error.

        Examples
        --------
        >>> import namedgrad, numpy as np, xarray as xr
        >>> t = xr.DataArray([[1.0, 2.0], [3.0, 5.0]], dims=("lat", "time"), coords={"lat": [10.0, 20.0]})
        >>> t.grad(lambda t: t.mean("time") ** 2, over="lat").values
        array([[1.5, 1.5],
               [4. , 4. ]])

        How much does the mean change if the cells move north?

        >>> weighted = lambda t: t.mean("time").weighted(np.cos(np.deg2rad(t.lat))).mean()
        >>> t.grad(weighted, wrt="lat").dims
        ('lat',)
        """
        wrt = uses.chosen(self._obj, f, wrt, kwargs)
        return gradients.grad(f, wrt, over=over, has_aux=has_aux)(self._obj, *args, **kwargs)

    def value_and_grad(
        self, f: Callable[..., Any], /, *args: Any, wrt: Any = 0, over: Any = (), has_aux: bool = False, **kwargs: Any
    ) -> Any:
        """Value and gradient of ``f(obj, *args, **kwargs)``; see :func:`namedgrad.value_and_grad`.

        Returns
        -------
        value, gradient
            What ``f`` returns, and its gradient, which is like the object.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> value, gradient = xr.DataArray([1.0, 2.0], dims="x").grad.value_and_grad(lambda x: (x**2).sum())
        >>> value.item(), gradient.values
        (5.0, array([2., 4.]))
        """
        wrt = uses.chosen(self._obj, f, wrt, kwargs)
        return gradients.value_and_grad(f, wrt, over=over, has_aux=has_aux)(self._obj, *args, **kwargs)

    def jacobian(
        self,
        f: Callable[..., Any],
        /,
        *args: Any,
        wrt: Any = 0,
        over: Any = (),
        mode: str = "auto",
        suffix: str = "_wrt",
        chunk: int | None = None,
        progress: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Jacobian of ``f(obj, *args, **kwargs)``; see :func:`namedgrad.jacobian`.

        Returns
        -------
        DataArray
            Dims and coordinates of the output, then those of the object under the suffix. For a Dataset of numbers
            these are one dim ``param_wrt``, for any other Dataset, and for a DataTree, the answer is one too.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> x = xr.DataArray([1.0, 2.0], dims="x", coords={"x": [10, 20]})
        >>> jac = x.grad.jacobian(lambda x: x**2)
        >>> jac.dims, jac.sel(x=20, x_wrt=20).item()
        (('x', 'x_wrt'), 4.0)
        """
        wrt = uses.chosen(self._obj, f, wrt, kwargs)
        made = jacobians.jacobian(f, wrt, over=over, mode=mode, suffix=suffix, chunk=chunk, progress=progress)
        return made(self._obj, *args, **kwargs)

    def hessian(
        self,
        f: Callable[..., Any],
        /,
        *args: Any,
        wrt: Any = 0,
        over: Any = (),
        suffix: str = "_wrt",
        chunk: int | None = None,
        part: str = "full",
        progress: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Hessian of ``f(obj, *args, **kwargs)``; see :func:`namedgrad.hessian`.

        Returns
        -------
        DataArray, Dataset or dict
            As :meth:`jacobian` of the gradient: dims of the object, then the same under the suffix.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> params = xr.Dataset({"a": 2.0, "b": 3.0})
        >>> params.grad.hessian(lambda p: p.a**2 * p.b).sel(param="a", param_wrt="b").item()
        4.0
        """
        wrt = uses.chosen(self._obj, f, wrt, kwargs)
        made = jacobians.hessian(f, wrt, over=over, suffix=suffix, chunk=chunk, part=part, progress=progress)
        return made(self._obj, *args, **kwargs)

    def jvp(self, f: Callable[..., Any], tangent: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Value of ``f`` and its derivative along ``tangent``; see :func:`namedgrad.pushforward`.

        Returns
        -------
        value, tangent
            What ``f`` returns, and a tangent like it.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> x = xr.DataArray([1.0, 2.0], dims="x")
        >>> value, slope = x.grad.jvp(lambda x: x**2, xr.DataArray([1.0, 0.5], dims="x"))
        >>> slope.values
        array([2., 2.])
        """
        return gradients.pushforward(uses.of_object(f, args, kwargs), (self._obj,), (tangent,))

    def vjp(self, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Value of ``f`` and its pullback to the object; see :func:`namedgrad.pullback`.

        Returns
        -------
        value, pull
            What ``f`` returns, and a function from a cotangent like it to a gradient like the object.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> value, pull = xr.DataArray([1.0, 2.0], dims="x").grad.vjp(lambda x: x**2)
        >>> pull(xr.DataArray([1.0, 10.0], dims="x")).values
        array([ 2., 40.])
        """
        return gradients.pullback(uses.of_object(f, args, kwargs), self._obj)

    pushforward, pullback = jvp, vjp

    def linearize(self, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[Any, LinearMap]:
        """Value of ``f`` and its derivative as a linear map; see :func:`namedgrad.linearize`.

        Returns
        -------
        value, L
            What ``f`` returns, and a :class:`namedgrad.LinearMap` from tangents of the object to those of the value.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> x = xr.DataArray([1.0, 2.0], dims="x")
        >>> value, L = x.grad.linearize(lambda x: x**2)
        >>> L(x).values, L.T(x).values
        (array([2., 8.]), array([2., 8.]))
        """
        return linearize(uses.of_object(f, args, kwargs), self._obj)

    def hvp(self, f: Callable[..., Any], v: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Hessian of ``f`` times ``v``, which is like the object; see :func:`namedgrad.hvp`.

        Returns
        -------
        DataArray, Dataset or DataTree
            Like the object.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> x = xr.DataArray([1.0, 2.0], dims="x")
        >>> x.grad.hvp(lambda x: (x**3).sum(), xr.DataArray([1.0, 0.5], dims="x")).values
        array([6., 6.])
        """
        return jacobians.hvp(uses.of_object(f, args, kwargs), self._obj, v)

    def check(self, f: Callable[..., Any], /, *args: Any, order: int = 2, **kwargs: Any) -> None:
        """Compare derivatives of ``f`` with respect to the object with finite differences, and print what agrees.

        Forward mode is compared with finite differences along a random direction ``t``, and reverse mode with forward
        mode by the adjoint identity, the dot product test ``<c, J t> = <J^T c, t>`` for a random cotangent ``c``.

        Parameters
        ----------
        f : callable
        *args, **kwargs
            Further arguments of ``f``, not differentiated.
        order : int
            1 checks first derivatives, 2 also those of the gradient.

        Raises
        ------
        GradientError
            With the first disagreement; see :func:`namedgrad.check_gradients`.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> def loss(x):
        ...     return (x**3).mean()
        >>> xr.DataArray([1.0, 2.0], dims="x").grad.check(loss, order=1)
        loss:
          forward mode and finite differences agree: derivatives along a random direction are at most ...
          adjoint (dot product) test: <c, J t> = ... and <J^T c, t> = ... differ by ...
        """
        uses.check(self._obj, uses.of_object(f, args, kwargs), order)

    def sensitivity(
        self,
        f: Callable[..., Any],
        /,
        *args: Any,
        density: Any = None,
        relative: bool = False,
        over: Any = (),
        **kwargs: Any,
    ) -> Any:
        """How much ``f(obj, *args, **kwargs)`` changes where the object does.

        Parameters
        ----------
        f : callable
            Returns one number, per slice of ``over``.
        *args, **kwargs
            Further arguments of ``f``.
        density : DataArray or number, optional
            Size of the cells (area, layer thickness, weight): the gradient is divided by it, which makes a map that
            does not depend on the grid. Its labels must be those of the object.
        relative : bool
            Relative change of ``f`` per relative change of the object, ``gradient * obj / f(obj)``.
        over : name or names
            Independent dims.

        Returns
        -------
        DataArray, Dataset or DataTree
            Like the object.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> t = xr.DataArray([1.0, 3.0], dims="x")
        >>> t.grad.sensitivity(lambda t: (t**2).sum(), relative=True).values
        array([0.2, 1.8])
        """
        return uses.sensitivity(self._obj, f, args, kwargs, density=density, relative=relative, over=over)

    def propagate(
        self, f: Callable[..., Any], /, *args: Any, cov: Any, over: Any = (), chunk: int = 64, **kwargs: Any
    ) -> Any:
        """Covariance of ``f(obj, *args, **kwargs)`` from that of the object, to first order: ``J cov J.T``.

        Parameters
        ----------
        f : callable
        *args, **kwargs
            Further arguments of ``f``, taken as exact.
        cov : number, DataArray, Dataset or DataTree
            Variances, with any dims of the object (errors of cells are then independent), or covariances with dims
            ``(x, x_wrt)`` for those dims ``x`` along which errors are correlated; other dims of the object tell
            covariances apart that differ per cell. For a Dataset or DataTree, one like it (errors of different
            variables are independent), or a DataArray with the dims ``param`` and ``param_wrt``, as a fit's covariance.
        over : name or names
            Dims along which ``f`` treats slices independently: one covariance per slice.
        chunk : int
            At most so many passes at once, which bounds memory.

        Returns
        -------
        DataArray
            With the dims of the output, once as they are and once with ``_wrt``; a variance where the output has none.
            For outputs of other kinds, in the form of a Jacobian of such an output by itself.

        Raises
        ------
        AxisError
            If the covariance has dims or labels that the object does not have.

        Notes
        -----
        Two passes per element of the output outside of ``over``, in sweeps of ``chunk``; the Jacobian is never formed.

        Examples
        --------
        >>> import namedgrad, xarray as xr
        >>> t = xr.DataArray([1.0, 3.0], dims="x")
        >>> t.grad.propagate(lambda t: t.mean(), cov=0.5).item()
        0.25
        """
        from namedgrad.xarray import covariances

        return covariances.propagate(self._obj, f, args, kwargs, cov=cov, over=over, chunk=chunk)

    def fit(
        self, model: Callable[..., Any], coords: Any, params: Any, *, over: Any = (), time_units: str = "seconds",
        time_origin: Any = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Fit a model to the data, in every cell of ``over`` at once; see :func:`namedgrad.least_squares`.

        Parameters
        ----------
        model : callable
            ``model(params, *coords)``, in plain Python: what the data should be. Of a Dataset or DataTree it returns
            one, or a dict of variables, which may share parameters, or an array that all of them should be. Complex
            data are fitted in their real and imaginary parts.
        coords : name, array, or sequence of them
            What the model depends on: coordinates of the array by name, or other arrays. Dates are given to it as
            numbers.
        params : dict, Dataset, or list of names
            Start values by name; those that are None, or of which only names are given, are found from the data.
        over : name or names
            The dims whose cells are independent problems.
        time_units : {"seconds", "minutes", "hours", "days", "years"}
            What dates are counted in.
        time_origin : date, optional
            What they are counted from; by default the earliest. ``params.attrs`` say so.
        **options
            As for :func:`namedgrad.least_squares`: ``bounds``, ``loss``, ``sigma``, ``prior``, ``fixed`` and more.

        Returns
        -------
        LeastSquaresResult
            Parameters have units where they follow from ``units`` of the array and of the coordinates.

        Raises
        ------
        AxisError
            If the model has dims that the data lack, or none of their labels.
        ValueError
            If the model returns other variables than a Dataset has.

        Examples
        --------
        >>> import numpy as np, namedgrad, xarray as xr
        >>> t = np.linspace(0.0, 3.0, 7)
        >>> y = xr.DataArray([3 * np.exp(-t), 2 * np.exp(-2 * t)], dims=("site", "t"), coords={"t": t})
        >>> fit = y.grad.fit(lambda p, t: p["a"] * np.exp(-p["b"] * t), "t", {"a": 1.0, "b": 1.0}, over="site")
        >>> fit.params["b"].values.round(6)
        array([1., 2.])
        """
        return uses.fit(
            self._obj, model, coords, params, over=over, time_units=time_units, time_origin=time_origin, options=options
        )

    def curvefit(self, coords: Any, func: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Fit a curve in all cells at once; see :func:`namedgrad.curvefit`, which takes what xarray's takes.

        Parameters
        ----------
        coords : name, DataArray, or sequence of them
            What the curve is a function of.
        func : callable
            ``func(x, *params)``, plain NumPy.
        *args, **options
            ``reduce_dims``, ``skipna``, ``p0``, ``bounds``, ``param_names``, ``errors``, ``kwargs`` and more.

        Returns
        -------
        Dataset
            ``curvefit_coefficients``, ``curvefit_covariance``, ``curvefit_status`` and more.

        Examples
        --------
        >>> import numpy as np, namedgrad, xarray as xr
        >>> t = np.linspace(0.0, 3.0, 7)
        >>> y = xr.DataArray([3 * np.exp(-t), 2 * np.exp(-2 * t)], dims=("site", "t"), coords={"t": t})
        >>> y.grad.curvefit("t", lambda t, a, b: a * np.exp(-b * t)).curvefit_coefficients.values.round(6)
        array([[3., 1.],
               [2., 2.]])
        """
        from namedgrad.fit import curvefit

        return curvefit(self._obj, coords, func, *args, **options)


class _Accessor:
    """Makes the accessor at every use: nothing is stored on the object, so there is no cycle with it."""

    def __get__(self, obj: Any, kind: type) -> Any:
        return Grad if obj is None else Grad(obj)


for _kind in (xr.DataArray, xr.Dataset, xr.DataTree):
    setattr(_kind, "grad", _Accessor())  # noqa: B010 - the classes know nothing of it
