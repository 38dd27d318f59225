"""A plain parameter and vectorized data: one gradient per slice, or their sum."""

from diagram import GONE, HIDDEN, array, arrow, canvas, caption, text

import namedgrad as ng

W = ng.DimArray([1.0, 2.0], ("feature",))
X = ng.DimArray([[1.0, 0.0], [3.0, 5.0], [2.0, 2.0]], ("batch", "feature"), vectorized=("batch",))


def per_slice(w, x):
    return (w * x).sum()


def summed(w, x):
    return (w * x).sum().devectorize("batch").sum("batch")


def draw():
    figure, axes = canvas(9.6, 5.6)
    text(axes, 0, 5.35, "forward", GONE, ha="left")
    array(axes, 0.4, 3.75, W)
    caption(axes, 0.4, 3.5, "w", W)
    text(axes, 1.75, 3.9, "×", size=15)
    array(axes, 2.3, 3.75, X)
    caption(axes, 2.3, 3.5, "x", X)
    arrow(axes, (3.9, 4.3), (5.1, 4.3))
    text(axes, 4.5, 4.5, ".sum()", family="monospace", size=10)
    array(axes, 5.4, 3.75, per_slice(W, X))
    caption(axes, 5.4, 3.5, "loss", per_slice(W, X))
    text(axes, 6.2, 5.15, "V = {batch}", HIDDEN, size=10, ha="left")
    arrow(axes, (6.5, 4.3), (8.3, 4.3))
    text(axes, 7.4, 4.65, '.devectorize("batch")\n.sum("batch")', family="monospace", size=9)
    array(axes, 8.6, 4.12, summed(W, X))
    caption(axes, 8.6, 3.87, "total", summed(W, X))
    text(axes, 8.6, 4.75, "V = {}", HIDDEN, size=10, ha="left")

    text(axes, 0, 2.75, "gradient of w", GONE, ha="left")
    g = ng.grad(per_slice)(W, X)
    array(axes, 5.1, 0.95, g)
    caption(axes, 5.1, 0.7, "per slice:", g)
    text(axes, 5.1, 0.4, "own: feature. kept, because in V: batch", size=9.5, ha="left")
    g = ng.grad(summed)(W, X)
    array(axes, 8.6, 1.35, g)
    caption(axes, 8.6, 1.1, "sum:", g)
    arrow(axes, (5.65, 3.3), (5.65, 2.35), GONE)
    arrow(axes, (8.95, 3.6), (8.95, 1.95), GONE)
    return figure
