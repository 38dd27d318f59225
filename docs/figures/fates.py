"""What becomes of each axis of a cotangent on its way into the gradient of one operand."""

from diagram import GONE, HIDDEN, INK, VISIBLE, arrow, canvas, pill, text


def draw():
    figure, axes = canvas(8.6, 2.6)
    text(axes, 1.2, 2.35, "cotangent of w * x", GONE)
    text(axes, 4.4, 2.35, "does w have it?  is it in V?", GONE)
    text(axes, 7.4, 2.35, "gradient of w", GONE)
    for y, name, verdict, color, dashed in (
        (1.75, "feature", "own", VISIBLE, False),
        (1.0, "batch", "kept: the output still carries it", HIDDEN, True),
        (0.25, "time", "summed: neither", GONE, False),
    ):
        pill(axes, 1.2, y, name, color, dashed=dashed)
        arrow(axes, (1.8, y), (6.75 if color != GONE else 6.4, y), color)
        text(axes, 4.2, y + 0.2, verdict, color)
        if color == GONE:
            text(axes, 6.65, y, "Σ", INK, size=15)
        else:
            pill(axes, 7.4, y, name, color, dashed=dashed)
    text(axes, 8.1, 1.75, "visible", VISIBLE, size=9, ha="left")
    text(axes, 8.1, 1.0, "hidden", HIDDEN, size=9, ha="left")
    return figure
