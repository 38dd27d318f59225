"""Recurrent layers over a named dim of time: simple, gated recurrent units, long short-term memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import AxisError, Name
from namedgrad.linear import Like
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.contraction.products import dot
from namedgrad.rules.dims import check
from namedgrad.rules.layers.cells import Dims, Weights, gru_step, lstm_step, nonlinear, plus, rnn_step, weights_of
from namedgrad.rules.layers.dropout import dropout
from namedgrad.rules.loops import scan_rows
from namedgrad.rules.movement import join, slice_of
from namedgrad.rules.movement.parts import unbind
from namedgrad.rules.structure import positions, reorder, select, where, zeros_spread

State = tuple[DimArray, ...]
Step = Callable[[DimArray, State, Weights], State]


def _directed(xs: Sequence[DimArray], active: Sequence[DimArray | None], state: State, w: Weights, step: Step, *, backward: bool) -> tuple[State, list[DimArray]]:
    """Scan over time in one direction; a step that does not count leaves the state as it is."""

    def taken(state: State, row: tuple[DimArray, DimArray | None]) -> tuple[State, DimArray]:
        x, here = row
        new = step(x, state, w)
        if here is None:
            return new, new[0]
        return tuple(where(here, n, old) for n, old in zip(new, state, strict=True)), select(here, new[0])

    # ``ng.scan`` would run every step again: a gradient takes 1.2 to 1.9 times as long at 8 to 256 steps
    return scan_rows(taken, state, list(zip(xs, active, strict=True)), backward=backward)


def _layers(what: str, x: Any, states: Sequence[Any], given: Sequence[Any], step: Step, dims: Dims, names: tuple[Name, Name, Name], *, both: bool, bias: bool,
            bidirectional: bool, projection: bool, lengths: Any, masks: Any, p: float, rng: Any) -> tuple[DimArray, ...]:
    dim, feature, layer = names
    x = constant(x)
    check(x, dim, what), check(x, feature, what)
    size = extent(x, dim)
    if not size:
        raise ValueError(f"{what}: there is no step along {dim!r}")
    weights = _grouped(what, given, dims, bias=bias, projection=projection, directions=1 + bidirectional)
    _check_states(what, states, layer, len(weights) * (1 + bidirectional))
    if any(dim in constant(v).names for v in (*states, *given) if v is not None):
        raise AxisError(f"{what}: a state or a weight has {dim!r}, the dim of the steps of the input; rename it there")
    active = [None] * size if lengths is None else unbind(e.less(positions(size, dim, x), constant(lengths)), dim)
    out, ends = x, []
    for i, layer_weights in enumerate(weights):
        if i and (masks is not None or rng is not None):
            out = dropout(out, None if masks is None else masks[i - 1], p=p, rng=rng)
        columns = []
        for d, w in enumerate(layer_weights):
            a = plus(dot(out, w.ih, dim=(dims.hidden if i else feature,)), w.b_ih)
            steps = unbind(plus(a, w.b_hh) if both else a, dim)
            number = i * len(layer_weights) + d
            start = tuple(_start(s, number, layer, w, n, dims) for s, n in zip(states, _state_names(w, dims), strict=False))
            end, outputs = _directed(steps, active, start, w, step, backward=d == 1)
            columns.append(join(outputs, dim))
            ends.append(end)
        out = columns[0] if len(columns) == 1 else join(columns, dims.hidden)
    order = [n for n in x.names if n in out.names]
    out = reorder(out, (*order, *(n for n in out.names if n not in order and n != dims.hidden), dims.hidden))
    return out, *(join([end[k] for end in ends], layer) for k in range(len(states)))


def _state_names(w: Weights, dims: Dims) -> tuple[Name, Name]:
    return dims.hidden, dims.hidden if w.hr is None else dims.cell


def _check_states(what: str, states: Sequence[Any], layer: Name, count: int) -> None:
    for state in states:
        if state is not None and (n := extent(constant(state), check(constant(state), layer, f"{what}: the state"))) != count:
            raise AxisError(f"{what}: the state has {n} layers along {layer!r}, the weights are those of {count}")


def _start(state: Any, number: int, layer: Name, w: Weights, name: Name, dims: Dims) -> DimArray:
    """The state to start from: a given one, or zeros."""
    if state is not None:
        return slice_of(constant(state), layer, number)
    size = extent(w.hr if w.hr is not None and name == dims.cell else w.hh, name)
    return zeros_spread(w.hh, Like((name,), (size,), w.hh.dtype))


def _grouped(what: str, given: Sequence[Any], dims: Dims, *, bias: bool, projection: bool, directions: int) -> list[list[Weights]]:
    """The weights by layer and direction."""
    each = 2 + 2 * bias + projection
    if not given or len(given) % (each * directions):
        raise TypeError(f"{what}: {len(given)} weights are no whole layers of {directions} x {each}")
    groups = [list(given[i : i + each]) for i in range(0, len(given), each)]
    if not bias:
        groups = [[*g[:2], None, None, *g[2:]] for g in groups]
    found = [weights_of(what, g, dims) for g in groups]
    return [found[i : i + directions] for i in range(0, len(found), directions)]


@operation(sample("real(a,b,c)", "real(one,b,j)", "real(i,c)", "real(i,j)", dim="a", feature="c", hidden="j", gate="i", layer="one", bias=False),
           sample("real(a,c)", "real(two,j)", "real(i,c)", "real(i,j)", "real(i)", "real(i)", "real(i,j)", "real(i,j)", "real(i)", "real(i)",
                  dim="a", feature="c", hidden="j", gate="i", layer="two", nonlinearity="relu"),
           sample("real(a,c)", "real(two,j)", "real(i,c)", "real(i,j)", "real(i,c)", "real(i,j)", dim="a", feature="c", hidden="j", gate="i", layer="two", bias=False, bidirectional=True))
def rnn(x: DimArray, h: Any, *weights: DimArray, dim: Name = "time", nonlinearity: str = "tanh", bias: bool = True, bidirectional: bool = False,
        lengths: Any = None, dropout_masks: Any = None, p: float = 0.0, rng: Any = None,
        feature: Name = "feature", hidden: Name = "hidden", gate: Name = "gate", layer: Name = "layer") -> tuple[DimArray, DimArray]:
    """Simple recurrent layers: :func:`rnn_cell` at every step of time.

    Parameters
    ----------
    x : DimArray
        With the dims of time and features.
    h : DimArray or None
        The states before the first step, with the dims of layers and state; None for zeros.
    *weights : DimArray
        Those of every layer and, if bidirectional, of its backward direction behind them: ``weight_ih, weight_hh, bias_ih, bias_hh``,
        in the order and layout of PyTorch. ``weight_ih`` of the first layer has the dims of gates and features; of
        higher layers, gates and state (of both directions, the forward one first).
    dim : name
        The dim of time.
    nonlinearity : {"tanh", "relu"}
        The function of every step.
    bias : bool
        Whether there are biases among the weights.
    bidirectional : bool
        Whether every layer also runs backward; the states of both are joined.
    lengths : DimArray of int, optional
        How many steps of each sequence count, aligned by name; behind them the output is 0 and the state stays.
    dropout_masks : sequence of DimArray of bool, optional
        Which cells stay between layers: one mask for every layer but the last.
    p : float
        The probability that a cell is left out there: what stays is divided by ``1 - p``.
    rng : numpy.random.Generator, optional
        Draws these masks.
    feature, hidden, gate, layer : name
        The dims of the input, of the state, of the joined gates, and of layers (times directions) in states.

    Returns
    -------
    output, h : DimArray
        The states of the last layer at all times, and those of all layers after the last step.

    Raises
    ------
    AxisError
        If a dim is missing or vectorized, or sizes do not fit.
    TypeError
        If the number of weights is not that of whole layers.
    ValueError
        If there is no step, or the nonlinearity is unknown.

    Notes
    -----
    ``torch.nn.RNN``. Packed sequences are ``lengths``. Weights may be vectorized: an
    ensemble. A reverse pass keeps every step in memory; :func:`scan` with a cell does with the square root of that.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.ones({"time": 3, "feature": 1})
    >>> w = ng.ones({"gate": 1, "feature": 1}), ng.ones({"gate": 1, "hidden": 1})
    >>> out, h = ng.rnn(x, None, *w, bias=False)
    >>> out.sizes, h.sizes
    ({'time': 3, 'hidden': 1}, {'layer': 1, 'hidden': 1})
    """
    dims = Dims(hidden, gate, hidden)
    function = nonlinear("rnn", nonlinearity)

    def step(a: DimArray, state: State, w: Weights) -> State:
        return (rnn_step(a, state[0], w, dims, function),)

    return _layers("rnn", x, (h,), weights, step, dims, (dim, feature, layer), both=True, bias=bias, bidirectional=bidirectional,
                   projection=False, lengths=lengths, masks=dropout_masks, p=p, rng=rng)  # type: ignore[return-value]


@operation(sample("real(a,b,c)", "real(one,b,two)", "real(six,c)", "real(six,two)", dim="a", feature="c", hidden="two", gate="six", layer="one", bias=False),
           sample("real(a,c)", "real(one,two)", "real(six,c)", "real(six,two)", "real(six)", "real(six)", dim="a", feature="c", hidden="two", gate="six", layer="one"))
def gru(x: DimArray, h: Any, *weights: DimArray, dim: Name = "time", bias: bool = True, bidirectional: bool = False,
        lengths: Any = None, dropout_masks: Any = None, p: float = 0.0, rng: Any = None,
        feature: Name = "feature", hidden: Name = "hidden", gate: Name = "gate", layer: Name = "layer") -> tuple[DimArray, DimArray]:
    """Layers of gated recurrent units: :func:`gru_cell` at every step of time.

    Parameters
    ----------
    x : DimArray
        With the dims of time and features.
    h : DimArray or None
        The states before the first step, with the dims of layers and state; None for zeros.
    *weights : DimArray
        Those of every layer and, if bidirectional, of its backward direction behind them: ``weight_ih, weight_hh, bias_ih, bias_hh``,
        in the order and layout of PyTorch. ``weight_ih`` of the first layer has the dims of gates and features; of
        higher layers, gates and state (of both directions, the forward one first).
    dim : name
        The dim of time.
    bias : bool
        Whether there are biases among the weights.
    bidirectional : bool
        Whether every layer also runs backward; the states of both are joined.
    lengths : DimArray of int, optional
        How many steps of each sequence count, aligned by name; behind them the output is 0 and the state stays.
    dropout_masks : sequence of DimArray of bool, optional
        Which cells stay between layers: one mask for every layer but the last.
    p : float
        The probability that a cell is left out there: what stays is divided by ``1 - p``.
    rng : numpy.random.Generator, optional
        Draws these masks.
    feature, hidden, gate, layer : name
        The dims of the input, of the state, of the joined gates, and of layers (times directions) in states.

    Returns
    -------
    output, h : DimArray
        The states of the last layer at all times, and those of all layers after the last step.

    Raises
    ------
    AxisError
        If a dim is missing or vectorized, or sizes do not fit.
    TypeError
        If the number of weights is not that of whole layers.
    ValueError
        If there is no step.

    Notes
    -----
    ``torch.nn.GRU``. Packed sequences are ``lengths``. Weights may be vectorized: an
    ensemble. A reverse pass keeps every step in memory; :func:`scan` with a cell does with the square root of that.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.ones({"time": 3, "feature": 1})
    >>> w = ng.ones({"gate": 6, "feature": 1}), ng.ones({"gate": 6, "hidden": 2})
    >>> out, h = ng.gru(x, None, *w, bias=False)
    >>> out.sizes, h.sizes
    ({'time': 3, 'hidden': 2}, {'layer': 1, 'hidden': 2})
    """
    dims = Dims(hidden, gate, hidden)

    def step(a: DimArray, state: State, w: Weights) -> State:
        return (gru_step(a, state[0], w, dims),)

    return _layers("gru", x, (h,), weights, step, dims, (dim, feature, layer), both=False, bias=bias, bidirectional=bidirectional,
                   projection=False, lengths=lengths, masks=dropout_masks, p=p, rng=rng)  # type: ignore[return-value]


@operation(sample("real(a,b,c)", "real(one,b,two)", "real(one,b,two)", "real(eight,c)", "real(eight,two)", dim="a", feature="c", hidden="two", gate="eight", layer="one", bias=False),
           sample("real(a,c)", "real(one,b)", "real(one,two)", "real(eight,c)", "real(eight,b)", "real(eight)", "real(eight)", "real(b,two)",
                  dim="a", feature="c", hidden="b", gate="eight", cell="two", layer="one", projection=True))
def lstm(x: DimArray, h: Any, c: Any, *weights: DimArray, dim: Name = "time", bias: bool = True, bidirectional: bool = False, projection: bool = False,
         lengths: Any = None, dropout_masks: Any = None, p: float = 0.0, rng: Any = None,
         feature: Name = "feature", hidden: Name = "hidden", gate: Name = "gate", cell: Name = "cell", layer: Name = "layer") -> tuple[DimArray, DimArray, DimArray]:
    """Layers of long short-term memory: :func:`lstm_cell` at every step of time.

    Parameters
    ----------
    x : DimArray
        With the dims of time and features.
    h, c : DimArray or None
        The states and the cells before the first step, with the dims of layers and state; None for zeros.
    *weights : DimArray
        Those of every layer and, if bidirectional, of its backward direction behind them: ``weight_ih, weight_hh, bias_ih, bias_hh, weight_hr``,
        in the order and layout of PyTorch. ``weight_ih`` of the first layer has the dims of gates and features; of
        higher layers, gates and state (of both directions, the forward one first).
    dim : name
        The dim of time.
    bias : bool
        Whether there are biases among the weights.
    projection : bool
        Whether there is a ``weight_hr`` among the weights, with the dims of state and cell.
    bidirectional : bool
        Whether every layer also runs backward; the states of both are joined.
    lengths : DimArray of int, optional
        How many steps of each sequence count, aligned by name; behind them the output is 0 and the state stays.
    dropout_masks : sequence of DimArray of bool, optional
        Which cells stay between layers: one mask for every layer but the last.
    p : float
        The probability that a cell is left out there: what stays is divided by ``1 - p``.
    rng : numpy.random.Generator, optional
        Draws these masks.
    cell : name
        The dim of cells where states are projected from them; else they have that of the state.
    feature, hidden, gate, layer : name
        The dims of the input, of the state, of the joined gates, and of layers (times directions) in states.

    Returns
    -------
    output, h, c : DimArray
        The states of the last layer at all times, and the states and cells of all layers after the last step.

    Raises
    ------
    AxisError
        If a dim is missing or vectorized, or sizes do not fit.
    TypeError
        If the number of weights is not that of whole layers.
    ValueError
        If there is no step.

    Notes
    -----
    ``torch.nn.LSTM``. Packed sequences are ``lengths``. Weights may be vectorized: an
    ensemble. A reverse pass keeps every step in memory; :func:`scan` with a cell does with the square root of that.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.ones({"time": 3, "feature": 1})
    >>> w = ng.ones({"gate": 8, "feature": 1}), ng.ones({"gate": 8, "hidden": 2})
    >>> out, h, c = ng.lstm(x, None, None, *w, bias=False)
    >>> out.sizes, c.sizes
    ({'time': 3, 'hidden': 2}, {'layer': 1, 'hidden': 2})
    """
    dims = Dims(hidden, gate, cell)

    def step(a: DimArray, state: State, w: Weights) -> State:
        return lstm_step(a, state[0], state[1], w, dims)

    return _layers("lstm", x, (h, c), weights, step, dims, (dim, feature, layer), both=True, bias=bias, bidirectional=bidirectional,
                   projection=projection, lengths=lengths, masks=dropout_masks, p=p, rng=rng)  # type: ignore[return-value]
