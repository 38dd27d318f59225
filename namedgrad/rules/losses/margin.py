"""Losses that are 0 from a margin on."""

from __future__ import annotations

from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name
from namedgrad.primitive import check_sizes, core, elementwise, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.activations.rectifiers import relu
from namedgrad.rules.activations.sigmoids import log_sigmoid
from namedgrad.rules.complex import absolute
from namedgrad.rules.dims import check, comparable
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.losses.probability import bce_logits
from namedgrad.rules.losses.reducing import (
    check_range,
    class_weights,
    classes,
    measured,
    of_class,
    read,
    read_real,
    reduced,
)
from namedgrad.rules.structure import (
    add,
    cast,
    contract,
    multiply,
    negative,
    not_equal,
    positions,
    relabel,
    select,
    subtract,
    total,
)
from namedgrad.trace import innermost


def _pulled(x: DimArray, t: DimArray, margin: DimArray) -> DimArray:
    """The derivative of the hinge embedding loss."""
    near = cast(not_equal(t, c(-1)), x.dtype)
    return subtract(near, _pushed(x, t, margin))


def _pushed(x: DimArray, t: DimArray, margin: DimArray) -> DimArray:
    """That in the margin."""
    return cast(e.logical_and(not_equal(t, c(1)), e.less_equal(x, margin)), x.dtype)


_hinge_embedding = elementwise("hinge_embedding", lambda y, x, t, m: _pulled(x, t, m), None, lambda y, x, t, m: _pushed(x, t, m))


@operation(sample("real(a,b)", "sign(a,b)"), sample("wide(a,b)", "sign(b)", dim="b"), sample("real(a,b)", "sign(a,c)", reduction=None),
           sample("real(a,b)", "sign(b,a)", reduction="sum"))  # fmt: skip
def soft_margin_loss(input: DimArray, target: DimArray, *, dim: Any = None, reduction: str | None = "mean") -> DimArray:
    """``log(1 + exp(-target * input))`` of targets 1 and -1.

    Parameters
    ----------
    input, target : DimArray
        Aligned by name.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    The derivative is ``-target * sigmoid(-target * input)``; nothing overflows. In PyTorch
    ``torch.nn.functional.soft_margin_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.soft_margin_loss(ng.DimArray([0.0, -1000.0], ("x",)), 1.0, reduction=None).data
    array([6.93147181e-01, 1.00000000e+03])
    """
    x, t = read("soft_margin_loss", input, target=target)
    return reduced(negative(log_sigmoid(multiply(x, t))), (x, t), dim, reduction, "soft_margin_loss")


@operation(sample("real(a,b)", "sign(a,b)"), sample("wide(a,b)", "sign(b)", dim="b", margin=1.5), sample("real(a,b)", "sign(a,c)", reduction=None),
           sample("real(a,b)", "sign(b,a)", reduction="sum"))  # fmt: skip
def hinge_embedding_loss(
    input: DimArray, target: DimArray, *, margin: DimArray | float = 1.0, dim: Any = None, reduction: str | None = "mean"
) -> DimArray:
    """Distances of pairs that belong together (target 1); ``max(0, margin - input)`` of those that do not (target -1).

    Parameters
    ----------
    input, target : DimArray
        Aligned by name.
    margin : float or DimArray
        Distance from which on pairs are apart.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    On the margin the derivative is -1, the inner side. In PyTorch ``torch.nn.functional.hinge_embedding_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.25, 0.25], ("x",))
    >>> ng.hinge_embedding_loss(x, ng.DimArray([1, -1], ("x",)), reduction=None).data
    array([0.25, 0.75])
    """
    x, t = read_real("hinge_embedding_loss", input, target=target)
    loss = _hinge_embedding(x, t, constant(margin))
    return reduced(loss, (x, t), dim, reduction, "hinge_embedding_loss")


@operation(sample("real(a,b)", "real(a,b)", "sign(a,b)"), sample("real(a,b)", "real(b)", "sign(a)", dim="b", margin=0.5),
           sample("real(a,b)", "real(b,c)", "sign(c)", reduction=None), sample("real(a,b)", "real(b,a)", "sign(b)", reduction="sum", margin=2.0))  # fmt: skip
def margin_ranking_loss(
    input1: DimArray,
    input2: DimArray,
    target: DimArray,
    *,
    margin: DimArray | float = 0.0,
    dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """``max(0, margin - target * (input1 - input2))``: the first input should be larger where the target is 1.

    Parameters
    ----------
    input1, input2, target : DimArray
        Aligned by name; targets are 1 and -1.
    margin : float or DimArray
        By how much it should be larger.
    dim : name or names, optional
        Dims to reduce; all by default.
    reduction : {"mean", "sum", None}
        None: the loss of each cell.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    On the margin the derivative is that of the inner side. In PyTorch ``torch.nn.functional.margin_ranking_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0], ("x",))
    >>> ng.margin_ranking_loss(x, 1.5, 1, reduction=None).data
    array([0.5, 0. ])
    """
    what = "margin_ranking_loss"
    x, y, t = read_real(what, input1, input2=input2, target=target)
    loss = e.clip_low(subtract(constant(margin), multiply(t, subtract(x, y))), c(0))
    return reduced(loss, (x, y, t), dim, reduction, what)


# fmt: off
_beyond_target = core("(n),()->(n)", "beyond_target", pullback=lambda g, out, x, t, margin: (_from_target(g, t), None),
                      pushforward=lambda ts, out, x, t, margin: _beyond_target(ts[0], t, margin=0), of_result=False)
_from_target   = core("(n),()->(n)", "from_target", pullback=lambda g, out, x, t: (_beyond_target(g, t, margin=0), None),
                      pushforward=lambda ts, out, x, t: _from_target(ts[0], t), of_result=False)
_beyond_target.keeps = _from_target.keeps = "constants"
_pair_slopes   = core("(n),(m)->(n)", "pair_slopes", pullback=lambda g, out, x, t: (None, None))
# fmt: on


@operation(sample("real(a,b)", "index_b(a)", dim="b"), sample("real(c,b,a)", "index_b(a,c)", dim="b", reduction="sum", p=2, margin=0.9),
           sample("real(a,b)", "index_b(a)", "positive(b)", dim="b", margin=0.4, p=2), sample("real(a,b)", "index_b(c)", "positive(b)", dim="b", reduction=None),
           sample("real(a,b,c)", "index_b(a,c)", dim="b", reduce_dim="c"))  # fmt: skip
@in_single
def multi_margin_loss(
    input: DimArray,
    target: DimArray,
    weight: DimArray | None = None,
    *,
    dim: Name,
    p: int = 1,
    margin: DimArray | float = 1.0,
    reduce_dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """By how much the score of the target is not above the others: the mean of ``max(0, margin - x[target] + x[i])**p``.

    Parameters
    ----------
    input : DimArray
        Scores of the classes, along ``dim``.
    target : DimArray of integers
        The classes, without ``dim``.
    weight : DimArray, optional
        Of the classes, along ``dim``: a factor at the target, before the mean.
    dim : name
        The dim of the classes; their sum, without that of the target, is divided by its size.
    p : {1, 2}
        Exponent.
    margin : float or DimArray
        By how much the score should be above the others.
    reduce_dim : name or names, optional
        Dims to reduce; by default all that are left.
    reduction : {"mean", "sum", None}
        None: the loss of each target.

    Returns
    -------
    DimArray
        Without ``dim``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.
    IndexError
        If a target is no class; on NumPy only, where looking is free.
    TypeError
        If the target does not hold integers.
    ValueError
        If ``p`` is neither 1 nor 2.

    Notes
    -----
    On the margin the derivative is 0. In PyTorch ``torch.nn.functional.multi_margin_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.0, 0.5, 2.0], ("class",))
    >>> ng.multi_margin_loss(x, ng.DimArray(1, ()), dim="class").item()
    1.0
    """
    if p not in {1, 2}:
        raise ValueError(f"multi_margin_loss: p={p}; choose 1 or 2")
    x = comparable(input, "multi_margin_loss")
    t, _ = classes(target, x, dim, "multi_margin_loss")
    x = x if x.dtype.kind in "fc" else cast(x, real_dtype(x))
    size = extent(x, dim)
    m = constant(margin)
    plain = m.level is None and backends.is_number(m.raw)
    others = _beyond_target(x, t, dims=((dim,), ()), out=(dim,), margin=m.raw if plain else 0)
    if not plain:
        others = select(not_equal(positions(size, dim, x), t), add(others, m))
    others = relu(others)
    loss = e.divide(total(e.square(others) if p == 2 else others, (dim,)), c(size))
    if weight is None:
        return reduced(loss, (x, t), reduce_dim, reduction, "multi_margin_loss")
    w = class_weights(weight, x, dim, "multi_margin_loss")
    return reduced(multiply(loss, of_class(w, dim, t, None)), (x, t, w), reduce_dim, reduction, "multi_margin_loss")


@operation(sample("real(a,b)", "labels(a,b)", dim="b"), sample("real(c,b,a)", "labels(a,b)", dim="b", reduction="sum"),
           sample("real(a,b)", "labels(c,b)", dim="b", reduction=None), sample("real(a,b,c)", "labels(a,c,b)", dim="b", reduce_dim="a"))  # fmt: skip
def multilabel_margin_loss(
    input: DimArray, target: DimArray, *, dim: Name, reduce_dim: Any = None, reduction: str | None = "mean"
) -> DimArray:
    """By how much the scores of several targets are not above the others: ``max(0, 1 - x[target] + x[i])``, summed.

    Parameters
    ----------
    input : DimArray
        Scores of the classes, along ``dim``.
    target : DimArray of integers
        Along ``dim`` the classes that are targets, as many as there are before the first negative number.
    dim : name
        The dim of the classes; the sum over all pairs of a target and another class is divided by its size.
    reduce_dim : name or names, optional
        Dims to reduce; by default all that are left.
    reduction : {"mean", "sum", None}
        None: the loss of each list of targets.

    Returns
    -------
    DimArray
        Without ``dim``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.
    IndexError
        If a target is no class; on NumPy only, where looking is free.
    TypeError
        If the target does not hold integers.

    Notes
    -----
    On the margin the derivative is 0. Pairs are counted by sorting, in memory of the size of the operands. In PyTorch ``torch.nn.functional.multilabel_margin_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.1, 0.2, 0.4, 0.8], ("class",))
    >>> print(f"{ng.multilabel_margin_loss(x, ng.DimArray([3, 0, -1, 1], ('class',)), dim='class').item():.6g}")
    0.85
    """
    what = "multilabel_margin_loss"
    x, t = comparable(input, what), constant(target, f"{what}: the target")
    size = extent(x, check(x, dim, what))
    if t.dtype.kind not in "iu":
        raise TypeError(f"{what}: the target holds classes, so its dtype is an integer, not {t.dtype}")
    check(t, dim, f"{what}: the target")
    check_sizes(what, (x, t))
    check_range(t, size, dim, what, low=-(2**62))
    listed = axes.local(("listed", dim))
    x = cast(x, real_dtype(x))
    slopes = _pair_slopes(innermost(x), innermost(relabel(t, {dim: listed})), dims=((dim,), (listed,)), out=(dim,))
    active = e.divide(total(absolute(slopes), (dim,)), c(2))  # every pair that counts is 1 for one cell and -1 for another
    loss = e.divide(add(contract(select(not_equal(slopes, c(0)), x), slopes, (dim,)), active), c(size))
    return reduced(loss, (x, t), reduce_dim, reduction, what)


@operation(sample("real(a,b)", "bit(a,b)", dim="b"), sample("real(c,b,a)", "share(a,b)", "positive(b)", dim="b", reduction="sum"),
           sample("real(a,b)", "bit(c,b)", dim="b", reduction=None), sample("wide(a,b,c)", "bit(a,c,b)", dim="b", reduce_dim="a"))  # fmt: skip
def multilabel_soft_margin_loss(
    input: DimArray,
    target: DimArray,
    weight: DimArray | None = None,
    *,
    dim: Name,
    reduce_dim: Any = None,
    reduction: str | None = "mean",
) -> DimArray:
    """Binary cross entropy of the log odds of several labels, averaged over these.

    Parameters
    ----------
    input, target : DimArray
        Log odds, and which labels hold (1 or 0); aligned by name.
    weight : DimArray, optional
        A factor of each term.
    dim : name
        The dim of the labels.
    reduce_dim : name or names, optional
        Dims to reduce; by default all that are left.
    reduction : {"mean", "sum", None}
        None: the mean over the labels.

    Returns
    -------
    DimArray
        Without ``dim``.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or has two sizes.

    Notes
    -----
    In PyTorch ``torch.nn.functional.multilabel_soft_margin_loss``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([0.0, 0.0], ("label",))
    >>> ng.multilabel_soft_margin_loss(x, ng.DimArray([1.0, 0.0], ("label",)), dim="label").item()
    0.6931471805599453
    """
    what = "multilabel_soft_margin_loss"
    x, t = read_real(what, input, target=target)
    size = extent(x, check(x, dim, what))
    loss = bce_logits(x, t, c(1))
    if weight is None:
        return reduced(e.divide(total(loss, (dim,)), c(size)), (x, t), reduce_dim, reduction, what)
    w = measured(weight, x, f"{what}: the weight")
    return reduced(e.divide(total(multiply(loss, w), (dim,)), c(size)), (x, t, w), reduce_dim, reduction, what)
