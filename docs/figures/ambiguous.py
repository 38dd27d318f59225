"""Slices that are mixed and met again: refused; under another name: one gradient per pair."""

from diagram import GONE, HIDDEN, WRONG, array, arrow, canvas, caption, text

import namedgrad as ng

X = ng.DimArray([1.0, 2.0, 6.0], ("b",), vectorized=("b",))


def weighted(x, name):
    own = x.devectorize("b").rename(b=name).vectorize(name)
    return own * x.devectorize("b").sum("b")


def draw():
    figure, axes = canvas(9.4, 5.2)
    for low, name, color in ((2.9, "b", WRONG), (0.2, "out", HIDDEN)):
        array(axes, 0.2, low + 0.6, X)
        caption(axes, 0.2, low + 0.35, "x", X)
        arrow(axes, (1.15, low + 1.6), (3.9, low + 1.6), bend=-0.12)
        if name == "b":
            text(axes, 2.5, low + 2.0, "its own slice", size=9)
        else:
            way = '.devectorize("b").rename(b="out").vectorize("out")'
            text(axes, 2.5, low + 2.0, way, size=7.5, family="monospace")
        arrow(axes, (1.15, low + 0.85), (1.85, low + 0.62))
        array(axes, 1.95, low + 0.4, X.devectorize().sum())
        text(axes, 2.15, low + 0.18, "sum over all slices", size=9)
        arrow(axes, (2.4, low + 0.62), (3.9, low + 1.0))
        text(axes, 4.1, low + 1.2, "×", size=15)
        out = weighted(X, name)
        array(axes, 4.5, low + 0.6, out)
        caption(axes, 4.5, low + 0.35, "out", out)
        if name == "b":
            arrow(axes, (5.6, low + 1.2), (6.4, low + 1.2), color)
            words = 'AxisError\n\nHow does slice 2 of out depend on slice 3 of x?\nBoth slices are called "b".'
            text(axes, 6.5, low + 1.2, words, color, size=9.5, ha="left")
        else:
            arrow(axes, (5.6, low + 1.2), (6.4, low + 1.2), GONE)
            g = ng.grad(lambda x: weighted(x, "out"))(X)
            array(axes, 6.6, low + 0.6, g.devectorize("b"), HIDDEN)
            caption(axes, 6.6, low + 0.35, "gradient of x", g)
    return figure
