"""Two inputs with different vectorized names: every pair of slices."""

from diagram import GONE, HIDDEN, array, arrow, canvas, caption, text

import namedgrad as ng

A = ng.DimArray([1.0, 2.0], ("i",), vectorized=("i",))
B = ng.DimArray([10.0, 20.0, 30.0], ("j",), vectorized=("j",))


def draw():
    figure, axes = canvas(9.2, 3.0)
    array(axes, 0.3, 1.3, A)
    caption(axes, 0.3, 1.05, "a", A)
    text(axes, 1.4, 1.75, "×", size=15)
    array(axes, 1.8, 1.3, B.devectorize(), HIDDEN)
    caption(axes, 1.8, 1.05, "b", B)
    arrow(axes, (3.1, 1.7), (3.7, 1.7))
    grid(axes, 3.9, A * B, "out")
    gradients = ng.grad(lambda a, b: a * b, wrt=(0, 1))(A, B)
    notes = ("own: i\nkept: j", "own: j\nkept: i")
    for x, name, g, note in zip((5.8, 7.7), ("of a", "of b"), gradients, notes, strict=True):
        grid(axes, x, g, name)
        text(axes, x, 0.45, note, size=9.5, ha="left")
    text(axes, 3.9, 2.65, "V = {i, j}", HIDDEN, size=10, ha="left")
    text(axes, 5.8, 2.65, "gradients", GONE, ha="left")
    return figure


def grid(axes, x, a, name):
    ordered = a.devectorize().transpose("i", "j").vectorize("i")
    array(axes, x, 1.3, ordered, HIDDEN)
    caption(axes, x, 1.05, name, a)
