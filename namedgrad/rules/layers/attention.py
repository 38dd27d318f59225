"""Attention: averages of values, weighted by how well keys match queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from namedgrad import axes
from namedgrad.array import DimArray, constant, describe, extent
from namedgrad.axes import AxisError, Name, Names
from namedgrad.linear import Like
from namedgrad.primitive import core, operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.contraction.products import dot
from namedgrad.rules.dims import check, named_dims
from namedgrad.rules.elementwise import c
from namedgrad.rules.layers.dropout import dropout
from namedgrad.rules.movement import join, merge, split
from namedgrad.rules.reductions import mean
from namedgrad.rules.special.softmax import less_leading
from namedgrad.rules.structure import (
    add,
    guarded_contract,
    multiply,
    positions,
    reorder,
    scale,
    subtract,
    where,
    zeros_spread,
)

CELL = axes.core(-1)


def _pull(g: DimArray, y: DimArray, x: DimArray) -> tuple[DimArray]:
    """Where a weight is 0, a value that is not finite does not count."""
    g = less_leading(g, y, (CELL,))
    return (scale(y, subtract(g, guarded_contract(y, g, (CELL,)))),)


def _push(ts: Sequence[Any], y: DimArray, x: DimArray) -> DimArray:
    return _pull(ts[0], y, x)[0]


_weights = core("(n)->(n)", "attention_weights", pullback=_pull, pushforward=_push)


def _masked(scores: DimArray, mask: Any) -> DimArray:
    mask = constant(mask)
    return where(mask, scores, c(-math.inf)) if mask.dtype.kind == "b" else add(scores, mask)


def _attend(q: DimArray, k: DimArray, v: DimArray, dims: Names, mask: Any, is_causal: bool, scale: float | None, dropout_mask: Any, p: float, rng: Any) -> tuple[DimArray, DimArray]:
    """The averages, and the weights of every key."""
    query, key, feature = dims
    if scale is None:
        scale = 1 / math.sqrt(extent(q, feature)) if extent(q, feature) else 1.0
    scores = dot(multiply(c(float(scale)), q), k, dim=(feature,))
    if mask is not None:
        scores = _masked(scores, mask)
    if is_causal:
        scores = _masked(scores, e.greater_equal(positions(extent(q, query), query, q), positions(extent(k, key), key, q)))
    weights = _weights(scores, dims=((key,),), out=(key,)) if extent(k, key) else scores
    used = weights if dropout_mask is None and rng is None else dropout(weights, dropout_mask, p=p, rng=rng)
    seen = mask is None and not is_causal
    return dot(used, v, dim=(key,)) if seen else guarded_contract(used, v, (key,)), weights


def _three(what: str, q: DimArray, k: DimArray, v: DimArray, dims: Any) -> Names:
    names = named_dims(dims, what, "of the queries", "of the keys", "of their features")
    query, key, feature = names
    for x, own in ((q, (query, feature)), (k, (key, feature)), (v, (key,))):
        for n in own:
            check(x, n, what)
    if key in q.names or query in k.names or query in v.names:
        raise AxisError(f"{what}: queries and keys are counted by different dims, {query!r} and {key!r}; "
                        f"operands {describe(q)}, {describe(k)}, {describe(v)}: rename one")
    return names


@operation(sample("real(a,b)", "real(c,b)", "real(c,i)", dims=("a", "c", "b")), sample("real(a,b)", "real(i,b)", "real(i,b)", "bool(a,i)", dims=("a", "i", "b")),
           sample("real(a,b,c)", "real(b,i,c)", "real(i,c,b)", "real(a,i)", dims=("a", "i", "c"), is_causal=True, scale=0.5),
           sample("real(six,a,b)", "real(six,c,b)", "real(six,c,b)", dims=("a", "c", "b"), head="six", is_causal=True))
def scaled_dot_product_attention(query: DimArray, key: DimArray, value: DimArray, mask: Any = None, *, dims: Names = ("query", "key", "feature"),
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, head: Name | None = None,
                                 dropout_mask: Any = None, p: float = 0.0, rng: Any = None) -> DimArray:
    """Averages of values, weighted by the softmax of products of queries and keys.

    Parameters
    ----------
    query, key, value : DimArray
        With dims (query, feature), (key, feature) and (key, ...); the features of ``value`` may have any names, that of
        the others too. All else is aligned by name.
    mask : DimArray, optional
        True where a query may see a key; numbers are added to the scores.
    dims : three names
        The dim that counts queries, the one that counts keys, and that of the features that are multiplied.
    is_causal : bool
        Query i sees keys 0 to i only.
    scale : float, optional
        Factor of the products, by default one over the square root of the number of features.
    enable_gqa : bool
        As PyTorch's: ``head`` is the dim that ``query`` has more cells of, or there is none.
    head : name, optional
        A dim that ``query`` has more cells of than ``key`` and ``value``: each of theirs serves a group of
        neighbouring ones ("grouped-query attention").
    dropout_mask : DimArray of bool, optional
        Which weights stay; the others count as 0.
    p : float
        The probability that a weight is left out: what stays is divided by ``1 - p``.
    rng : numpy.random.Generator, optional
        Draws the dropout mask.

    Returns
    -------
    DimArray
        With the dims of ``query`` but the features, then those of ``value``.

    Raises
    ------
    AxisError
        If a dim is missing, vectorized, or counts both queries and keys.
    ValueError
        If the heads do not fall into groups.

    Notes
    -----
    ``softmax(scale q k^T + mask) v`` (Vaswani et al., 2017). With weights w, a cotangent g of them is pulled to
    ``w (g - sum(g w))``. A query that sees no key gets 0, and its gradients are 0;
    what is masked may be NaN.
    ``torch.nn.functional.scaled_dot_product_attention``, which gives NaN or 0 there, depending on its kernel.

    Examples
    --------
    >>> import namedgrad as ng
    >>> q, k = ng.zeros({"query": 1, "feature": 2}), ng.zeros({"key": 2, "feature": 2})
    >>> v = ng.DimArray([1.0, 3.0], ("key",))
    >>> ng.scaled_dot_product_attention(q, k, v).data
    array([2.])
    """
    q, k, v = constant(query), constant(key), constant(value)
    names = _three("scaled_dot_product_attention", q, k, v, dims)
    group: Name = None
    if head is None and enable_gqa:
        head = _head(q, k)
    if head is not None and extent(q, check(q, head, "attention")) != extent(k, check(k, head, "attention")):
        count = extent(k, head)
        if not count or extent(q, head) % count or extent(v, head) != count:
            raise ValueError(f"scaled_dot_product_attention: {extent(q, head)} heads {head!r} of queries do not fall into groups "
                             f"for {count} of keys and {extent(v, head)} of values")
        group = axes.local("group of heads")
        sizes = {head: count, group: extent(q, head) // count}
        q, mask, dropout_mask = (_split_heads(x, head, sizes) for x in (q, mask, dropout_mask))
    out, _ = _attend(q, k, v, names, mask, is_causal, scale, dropout_mask, p, rng)
    if group is not None:
        out = merge(out, (head, group), head)
    order = [n for n in constant(query).names if n in out.names]
    return reorder(out, (*order, *(n for n in out.names if n not in order)))


def _head(q: DimArray, k: DimArray) -> Name | None:
    """The visible dim of which queries and keys have not as many cells; None if there is no such dim."""
    found = [n for n, size in q.sizes.items() if n in k.sizes and k.sizes[n] != size]
    if len(found) > 1:
        raise AxisError(f"scaled_dot_product_attention: sizes of {found} differ between {describe(q)} and {describe(k)}; "
                        "name the one that counts heads with head=")
    return found[0] if found else None


def _split_heads(x: Any, head: Name, sizes: dict[Name, int]) -> Any:
    if x is None:
        return None
    x = constant(x)
    return split(x, head, sizes) if head in x.names and extent(x, head) != sizes[head] else x


# ------------------------------------------------------------------------------------------------ several heads


def _projected(x: DimArray, weight: Any, bias: Any, feature: Name) -> DimArray:
    out = dot(x, constant(weight), dim=(feature,))
    return out if bias is None else add(out, constant(bias))


def _appended(x: DimArray, row: Any, key: Name) -> DimArray:
    """One more cell along the dim of keys, behind the others; zeros unless it is given."""
    last = zeros_spread(x, Like((), (), x.dtype)) if row is None else constant(row)
    return join([x, last], key)


def _seen(mask: Any, size: int, key: Name) -> Any:
    """The mask, with every key that was appended in sight."""
    if mask is None:
        return None
    mask = constant(mask)
    while key in mask.names and extent(mask, key) < size:
        mask = join([mask, c(True)] if mask.dtype.kind == "b" else [mask, zeros_spread(mask, Like((), (), mask.dtype))], key)
    return mask


@operation(sample("real(a,b)", "real(c,b)", "real(c,b)", "real(eight,b)", "real(eight,b)", "real(eight,b)", "real(b,eight)", dims=("a", "c", "b"), inner="eight", num_heads=2),
           sample("real(a,b,i)", "real(i,c,b)", "real(c,b)", "real(six,b)", "real(six,b)", "real(six,b)", "real(j,six)", dims=("a", "c", "b"), inner="six", num_heads=3))
def multi_head_attention(query: DimArray, key: DimArray, value: DimArray, query_weight: DimArray, key_weight: DimArray, value_weight: DimArray,
                         out_weight: DimArray, query_bias: Any = None, key_bias: Any = None, value_bias: Any = None, out_bias: Any = None,
                         mask: Any = None, *, num_heads: int, dims: Names = ("query", "key", "embed"), inner: Name = "inner", head: Name = "head",
                         is_causal: bool = False, extra_key: Any = None, extra_value: Any = None, add_zero: bool = False,
                         dropout_mask: Any = None, p: float = 0.0, rng: Any = None, need_weights: bool = False, average_weights: bool = True) -> Any:
    """Attention in several subspaces at once, between linear maps in and out of them.

    Parameters
    ----------
    query, key, value : DimArray
        With dims (query, embed), (key, embed), (key, embed); all else is aligned by name. Sizes of ``embed`` may differ.
    query_weight, key_weight, value_weight : DimArray
        With dims (inner, embed): the three parts of PyTorch's ``in_proj_weight``.
    out_weight : DimArray
        With the dim inner, and the dims of the result.
    query_bias, key_bias, value_bias, out_bias : DimArray, optional
        Added to the projections.
    mask : DimArray, optional
        True where a query may see a key; numbers are added to the scores. A mask of padded keys is one without the
        dim of queries; one for each head has the dim ``head``.
    num_heads : int
        Into how many heads the inner dim is cut; it divides its size.
    dims : three names
        The dim that counts queries, the one that counts keys, and that of their features.
    inner, head : name
        The dim of projections, and the one that counts heads.
    is_causal : bool
        Query i sees keys 0 to i only.
    extra_key, extra_value : DimArray, optional
        One more key and value, after projection: PyTorch's ``bias_k`` and ``bias_v``.
    add_zero : bool
        One more key and value of zeros.
    dropout_mask : DimArray of bool, optional
        Which weights stay.
    p : float
        The probability that a weight is left out.
    rng : numpy.random.Generator, optional
        Draws the dropout mask.
    need_weights : bool
        Return the weights too.
    average_weights : bool
        Averaged over the heads; else they have the dim ``head``.

    Returns
    -------
    DimArray, or tuple of it and the weights

    Raises
    ------
    AxisError
        If a dim is missing, vectorized, or counts both queries and keys.
    ValueError
        If ``num_heads`` does not divide the inner dim.

    Notes
    -----
    Vaswani et al. (2017), section 3.2.2. ``torch.nn.MultiheadAttention``, where True in a mask means hidden: negate it.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[1.0, 0.0], [0.0, 1.0]], ("query", "embed"))
    >>> w, back = ng.eye("inner", "embed", 2), ng.eye("embed", "inner", 2)
    >>> y = ng.multi_head_attention(x, x.rename(query="key"), x.rename(query="key"), w, w, w, back, num_heads=2)
    >>> y.sizes
    {'query': 2, 'embed': 2}
    """
    q, k, v = constant(query), constant(key), constant(value)
    what = "multi_head_attention"
    count, at, feature = _three(what, q, k, v, dims)
    check(v, feature, what)
    q, k, v = (_projected(x, w, b, feature) for x, w, b in ((q, query_weight, query_bias), (k, key_weight, key_bias), (v, value_weight, value_bias)))
    if extra_key is not None:
        k, v = _appended(k, extra_key, at), _appended(v, extra_value, at)
    if len(found := {extent(x, check(x, inner, what)) for x in (q, k, v)}) > 1:
        raise AxisError(f"{what}: query, key and value are projected to {sorted(found)} cells along {inner!r}; make them one size")
    if num_heads < 1 or extent(q, inner) % num_heads:
        raise ValueError(f"{what}: {num_heads} heads do not divide the dim {inner!r} of size {extent(q, inner)}")
    cell = axes.local("cell of heads")
    q, k, v = (split(x, inner, {head: num_heads, cell: extent(x, inner) // num_heads}) for x in (q, k, v))
    if add_zero:
        k, v = (_appended(x, None, at) for x in (k, v))
    attended, weights = _attend(q, k, v, (count, at, cell), _seen(mask, extent(k, at), at), is_causal, None, dropout_mask, p, rng)
    out = _projected(merge(attended, (head, cell), inner), out_weight, out_bias, inner)
    if not need_weights:
        return out
    return out, mean(weights, head, skipna=False) if average_weights else weights
