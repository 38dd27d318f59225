"""One step of a recurrent layer, with PyTorch's weights: gates joined along one dim, in PyTorch's order."""

from __future__ import annotations

from typing import Any, NamedTuple

from namedgrad import axes
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Like
from namedgrad.primitive import check_sizes, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.activations.rectifiers import relu
from namedgrad.rules.activations.sigmoids import sigmoid
from namedgrad.rules.contraction.products import dot
from namedgrad.rules.dims import check
from namedgrad.rules.movement import split
from namedgrad.rules.movement.parts import unbind
from namedgrad.rules.structure import add, multiply, relabel, reorder, spread, subtract

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
_WHICH = axes.fresh("gate")


class Weights(NamedTuple):
    """The weights of one layer in one direction."""

    ih: DimArray
    hh: DimArray
    b_ih: DimArray | None = None
    b_hh: DimArray | None = None
    hr: DimArray | None = None  #: the projection of an LSTM


class Dims(NamedTuple):
    """The names that a recurrent layer is told."""

    hidden: Name
    gate: Name
    cell: Name


def plus(x: DimArray, bias: DimArray | None) -> DimArray:
    """``x + bias``."""
    return x if bias is None else add(x, bias)


def gates_of(kind: str, a: DimArray, dims: Dims, size: int) -> tuple[DimArray, ...]:
    """The gates that were joined along one dim, each with the dim of the state."""
    count = GATES[kind]
    if extent(a, dims.gate) != count * size:
        raise AxisError(f"{kind}: {count} gates of {size} cells are {count * size} along {dims.gate!r}, not as in {describe(a)}")
    if count == 1:
        return (relabel(a, {dims.gate: dims.hidden}),)
    return unbind(split(a, dims.gate, {_WHICH: count, dims.hidden: size}), _WHICH)


def rnn_step(x: DimArray, h: DimArray, w: Weights, dims: Dims, nonlinearity: str) -> DimArray:
    """The next state; ``x`` is the projected input with both biases."""
    (a,) = gates_of("rnn", add(x, dot(h, w.hh, dim=(dims.hidden,))), dims, extent(w.hh, dims.hidden))
    return e.tanh(a) if nonlinearity == "tanh" else relu(a)


def gru_step(x: DimArray, h: DimArray, w: Weights, dims: Dims) -> DimArray:
    """The next state; ``x`` is the projected input with its bias."""
    size = extent(w.hh, dims.hidden)
    xr, xz, xn = gates_of("gru", x, dims, size)
    hr, hz, hn = gates_of("gru", plus(dot(h, w.hh, dim=(dims.hidden,)), w.b_hh), dims, size)
    reset, update = sigmoid(add(xr, hr)), sigmoid(add(xz, hz))
    new = e.tanh(add(xn, multiply(reset, hn)))
    return add(new, multiply(update, subtract(h, new)))


def lstm_step(x: DimArray, h: DimArray, c: DimArray, w: Weights, dims: Dims) -> tuple[DimArray, DimArray]:
    """The next state and cell; ``x`` is the projected input with both biases."""
    a = add(x, dot(h, w.hh, dim=(dims.hidden,)))
    cell = dims.hidden if w.hr is None else dims.cell
    size = extent(w.hh, dims.hidden) if w.hr is None else extent(w.hr, dims.cell)
    i, f, g, o = gates_of("lstm", a, dims._replace(hidden=cell), size)
    c = add(multiply(sigmoid(f), c), multiply(sigmoid(i), e.tanh(g)))
    h = multiply(sigmoid(o), e.tanh(c))
    if w.hr is None:
        return h, c
    h = dot(h, w.hr, dim=(dims.cell,))
    return h, _with_names(c, h, dims.hidden)


def _with_names(c: DimArray, h: DimArray, but: Name) -> DimArray:
    """The cell with every name that the state has: the same from the first step on."""
    missing = tuple(n for n in h.names if n not in c.names and n != but)
    if not missing:
        return c
    wide = spread(c, Like((*missing, *c.names), (*(extent(h, n) for n in missing), *c.full_shape), c.dtype))
    return relabel(wide, {}, hide=tuple(n for n in missing if n in h.hidden))


# ------------------------------------------------------------------------------------------------ public cells


def nonlinear(what: str, nonlinearity: str) -> str:
    """One of the two functions that PyTorch has."""
    if nonlinearity not in {"tanh", "relu"}:
        raise ValueError(f"{what}: nonlinearity={nonlinearity!r} is neither 'tanh' nor 'relu'")
    return nonlinearity


def weights_of(what: str, given: Any, dims: Dims) -> Weights:
    """Weights as arrays with the dims that they must have."""
    w = Weights(constant(given[0]), constant(given[1]), *(None if v is None else constant(v) for v in given[2:]))
    for v in w[:4]:
        if v is not None:
            check(v, dims.gate, what)
    check(w.hh, dims.hidden, what)
    if w.hr is not None:
        check(w.hr, dims.hidden, what), check(w.hr, dims.cell, what)
    check_sizes(f"{what}: the weights", [v for v in w[1:] if v is not None])  # those of the input may meet two directions
    return w


def _prepared(what: str, x: Any, weights: Any, feature: Name, dims: Dims, *, both: bool) -> tuple[DimArray, Weights]:
    w = weights_of(what, weights, dims)
    x = constant(x)
    check(x, feature, what), check(w.ih, feature, what)
    a = plus(dot(x, w.ih, dim=(feature,)), w.b_ih)
    return plus(a, w.b_hh) if both else a, w


def _last(h: DimArray, name: Name) -> DimArray:
    return reorder(h, (*(n for n in h.names if n != name), name))


@operation(sample("real(a,b)", "real(a,j)", "real(i,b)", "real(i,j)", feature="b", hidden="j", gate="i"),
           sample("real(a,b)", "real(a,j)", "real(i,b)", "real(i,j)", "real(i)", "real(i)", feature="b", hidden="j", gate="i", nonlinearity="relu"))
def rnn_cell(x: DimArray, h: DimArray, weight_ih: DimArray, weight_hh: DimArray, bias_ih: Any = None, bias_hh: Any = None, *,
             nonlinearity: str = "tanh", feature: Name = "feature", hidden: Name = "hidden", gate: Name = "gate") -> DimArray:
    """One step of a simple recurrent layer: ``tanh(weight_ih x + bias_ih + weight_hh h + bias_hh)``.

    Parameters
    ----------
    x, h : DimArray
        The input, and the state before.
    weight_ih : DimArray
        With the dims of gates and features.
    weight_hh : DimArray
        With the dims of gates and state.
    bias_ih, bias_hh : DimArray, optional
        With the dim of gates.
    nonlinearity : {"tanh", "relu"}
        The function of the sum.
    feature, hidden, gate : name
        The dims of the input, of the state, and of the joined gates.

    Returns
    -------
    DimArray
        The state after.

    Raises
    ------
    AxisError
        If a dim is missing or vectorized, or the sizes of gates and state do not fit.
    ValueError
        If the nonlinearity is unknown.

    Notes
    -----
    Elman (1990). ``torch.nn.RNNCell``, with its weights. :func:`scan` with a cell is a layer of one's own.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, h = ng.ones({"feature": 1}), ng.zeros({"hidden": 2})
    >>> ng.rnn_cell(x, h, ng.ones({"gate": 2, "feature": 1}), ng.ones({"gate": 2, "hidden": 2})).data.round(3)
    array([0.762, 0.762])
    """
    dims = Dims(hidden, gate, hidden)
    a, w = _prepared("rnn_cell", x, (weight_ih, weight_hh, bias_ih, bias_hh), feature, dims, both=True)
    return _last(rnn_step(a, constant(h), w, dims, nonlinear("rnn_cell", nonlinearity)), hidden)


@operation(sample("real(a,b)", "real(a,two)", "real(six,b)", "real(six,two)", feature="b", hidden="two", gate="six"),
           sample("real(a,b)", "real(a,two)", "real(six,b)", "real(six,two)", "real(six)", "real(six)", feature="b", hidden="two", gate="six"))
def gru_cell(x: DimArray, h: DimArray, weight_ih: DimArray, weight_hh: DimArray, bias_ih: Any = None, bias_hh: Any = None, *,
             feature: Name = "feature", hidden: Name = "hidden", gate: Name = "gate") -> DimArray:
    """One step of a gated recurrent unit.

    Parameters
    ----------
    x, h : DimArray
        The input, and the state before.
    weight_ih : DimArray
        With the dims of gates and features.
    weight_hh : DimArray
        With the dims of gates and state.
    bias_ih, bias_hh : DimArray, optional
        With the dim of gates.
    feature, hidden, gate : name
        The dims of the input, of the state, and of the joined gates.

    Returns
    -------
    DimArray
        The state after.

    Raises
    ------
    AxisError
        If a dim is missing or vectorized, or the sizes of gates and state do not fit.

    Notes
    -----
    With gates in the order r, z, n: ``(1 - z) n + z h`` where ``n = tanh(x_n + r h_n)`` (Cho et al., 2014, in the form of
    cuDNN). ``torch.nn.GRUCell``, with its weights.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, h = ng.ones({"feature": 1}), ng.zeros({"hidden": 2})
    >>> ng.gru_cell(x, h, ng.ones({"gate": 6, "feature": 1}), ng.ones({"gate": 6, "hidden": 2})).data.round(3)
    array([0.205, 0.205])
    """
    dims = Dims(hidden, gate, hidden)
    a, w = _prepared("gru_cell", x, (weight_ih, weight_hh, bias_ih, bias_hh), feature, dims, both=False)
    return _last(gru_step(a, constant(h), w, dims), hidden)


@operation(sample("real(a,b)", "real(a,two)", "real(a,two)", "real(eight,b)", "real(eight,two)", feature="b", hidden="two", gate="eight"),
           sample("real(a,b)", "real(a,two)", "real(a,two)", "real(eight,b)", "real(eight,two)", "real(eight)", "real(eight)", feature="b", hidden="two", gate="eight"),
           sample("real(a,b)", "real(a,c)", "real(a,two)", "real(eight,b)", "real(eight,c)", "real(eight)", "real(eight)", "real(c,two)", feature="b", hidden="c", gate="eight", cell="two"))
def lstm_cell(x: DimArray, h: DimArray, c: DimArray, weight_ih: DimArray, weight_hh: DimArray, bias_ih: Any = None, bias_hh: Any = None, weight_hr: Any = None, *,
              feature: Name = "feature", hidden: Name = "hidden", gate: Name = "gate", cell: Name = "cell") -> tuple[DimArray, DimArray]:
    """One step of a long short-term memory.

    Parameters
    ----------
    x, h, c : DimArray
        The input, and the state and the cell before.
    weight_ih : DimArray
        With the dims of gates and features.
    weight_hh : DimArray
        With the dims of gates and state.
    bias_ih, bias_hh : DimArray, optional
        With the dim of gates.
    weight_hr : DimArray, optional
        With the dims of state and cell: projects the one from the other.
    feature, hidden, gate : name
        The dims of the input, of the state, and of the joined gates.
    cell : name
        The dim of the cell, if the state is projected; else it is that of the state.

    Returns
    -------
    h, c : DimArray
        The state and the cell after.

    Raises
    ------
    AxisError
        If a dim is missing or vectorized, or the sizes of gates and state do not fit.

    Notes
    -----
    With gates in the order i, f, g, o: ``c = f c + i g`` and ``h = o tanh(c)`` (Hochreiter and Schmidhuber, 1997; Gers et
    al., 2000; projections Sak et al., 2014). ``torch.nn.LSTMCell``, with its weights.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x, h = ng.ones({"feature": 1}), ng.zeros({"hidden": 2})
    >>> h, c = ng.lstm_cell(x, h, h, ng.ones({"gate": 8, "feature": 1}), ng.ones({"gate": 8, "hidden": 2}))
    >>> h.data.round(3), c.data.round(3)
    (array([0.37, 0.37]), array([0.557, 0.557]))
    """
    dims = Dims(hidden, gate, cell)
    a, w = _prepared("lstm_cell", x, (weight_ih, weight_hh, bias_ih, bias_hh, weight_hr), feature, dims, both=True)
    h, c = lstm_step(a, constant(h), constant(c), w, dims)
    return _last(h, hidden), _last(c, hidden if weight_hr is None else cell)
