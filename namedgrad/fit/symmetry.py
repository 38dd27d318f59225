"""What a model does when its units change, and in which of its parameters it is linear: measured, not read.

A model that holds in any unit of its coordinate answers a change of unit by a change of its parameters: ``x df/dx`` is
a combination of the derivatives in the parameters, ``-sum(v_k df/dp_k)``, everywhere.  Then ``v`` is the velocity with
which the parameters move while the unit grows; likewise for the origin of the coordinate.  So start values that suit a
coordinate between -1 and 1 can be carried to any other.  Nothing is known of the parameters but this.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.linalg

from namedgrad.fit.batch import Flags
from namedgrad.fit.small import Array
from namedgrad.fit.surface import Slopes, Surface

SAMPLES, POINTS = 96, 64  # parameters, and observations, that a symmetry is measured at
CLOSED = 1e-6  # what may be left of a derivative that is a combination of others, relative to it
ROUNDING, DISTINCT = 1e-14, 1e-6  # of derivatives, and of the velocities that follow from them
MOST_SUBSETS = 12  # parameters of which all subsets are tried
STEPS = 256  # of an integration
STREWN = 32  # times so many points of any size, among which are some where all parameters make a difference
NEGATIVE, PLACES = 0.25, 0.125  # of candidates for a parameter; those for one of which nothing is known that are places
DECADES, DECADE_SAMPLES = 12, 24  # units that are tried, and the parameters that they are judged by
CLEAR, CLEARER = 1e-2, 3.0  # derivatives are told apart; and by how much better for another unit to be taken
UNTOLD = 1e-7  # of other derivatives: what is quadratic where these are linear is lost in rounding
TOLD = 1e-6  # derivatives that are less far from dependent in all units are dependent, but for rounding
VARIES = 0.05  # of a model, at least: what is nearly constant where coordinates are of order 1 has other units
# Times a coordinate, by which a model changes less than from one place to another: if not, it makes so many waves that
# derivatives are told apart whatever they are.
LONGER, STEADY = 1.01, 0.5


class Flow(NamedTuple):
    """How some parameters move, as polynomials of second degree in them: (feature, parameter).

    Those that are ``turned``, which do not move, are there by their reciprocals: a phase moves by what is left of a
    period.
    """

    weights: Array
    turned: tuple[int, ...] = ()

    @property
    def affine(self) -> bool:
        """Whether terms of second degree are absent."""
        q = self.weights.shape[1]
        return not self.weights[1 + q :].any()

    def moved(self, points: Array, time: Array | float) -> Array:
        """Points (parameter, point) after some time, which may differ from point to point."""
        q = len(points)
        time = np.broadcast_to(np.asarray(time, dtype=float), points.shape[1:])
        if not self.weights.any():
            return points
        if self.turned:
            return turned(self._replace(turned=()).moved(turned(points, self.turned), time), self.turned)
        with np.errstate(all="ignore"):
            if self.affine:
                generator = np.zeros((q + 1, q + 1))
                generator[:q, :q], generator[:q, q] = self.weights[1 : 1 + q].T, self.weights[0]
                times, where = np.unique(time, return_inverse=True)
                matrices = scipy.linalg.expm(generator * times[:, None, None])[where]
                return np.einsum("nij,jn->in", matrices[:, :q, :q], points) + matrices[:, :q, q].T
            return self._integrated(points, time / STEPS)

    def _integrated(self, points: Array, step: Array) -> Array:
        """By the classical Runge-Kutta method."""
        used = np.flatnonzero(self.weights.any(axis=1))
        weights, (i, j) = self.weights[used].T, np.take(np.triu_indices(1 + len(points)), used, axis=1)
        factors = np.ones((1 + len(points), points.shape[1]))

        def speed(p: Array) -> Array:
            factors[1:] = p
            return np.asarray(weights @ (factors[i] * factors[j]))

        for _ in range(STEPS):
            a = speed(points)
            b = speed(points + 0.5 * step * a)
            c = speed(points + 0.5 * step * b)
            points = points + step / 6 * (a + 2 * b + 2 * c + speed(points + step * c))
        return points


def turned(points: Array, rows: tuple[int, ...]) -> Array:
    """Points with the reciprocals of some parameters."""
    out = points.copy()
    out[list(rows)] = 1 / out[list(rows)]
    return out


def features(points: Array) -> Array:
    """1, the parameters, and their products: (feature, point)."""
    factors = np.concatenate([np.ones((1, points.shape[1])), points])
    i, j = np.triu_indices(len(factors))
    return np.asarray(factors[i] * factors[j])


class Symmetry(NamedTuple):
    """What was found of a model.

    Attributes
    ----------
    linear, bent : rows of parameters: in which the model is linear, jointly, and the others
    scale, shift : how the others move per unit of log scale, and of shift, of each coordinate; None if they cannot
    rise : how the others move so that what is left of the model without the linear parameters grows; None likewise
    left : whether something is left
    """

    linear: list[int]
    bent: list[int]
    scale: list[Flow | None]
    shift: list[Flow | None]
    rise: Flow | None
    left: bool


def natural_units(surface: Surface, free: list[int], start: Array) -> list[float]:
    """Units of the coordinates in which parameters of order 1 are told apart: those that the model computes in.

    A model that turns metres into micrometres itself is flat, or 0, where its coordinates are of order 1.
    """
    count, rng = len(surface.x), np.random.default_rng(0)
    if not surface.movable:
        return [1.0] * count
    points = _samples(len(start), rng)[:, :DECADE_SAMPLES]
    x = surface.ordered([np.asarray(rng.uniform(0.05, 4.0, v.shape)) for v in surface.x])
    rest = [k for k in range(len(start)) if k not in free]
    points[rest] = start[rest, None]

    def clear(units: list[float], least: float, above: float) -> float:
        """How far from dependent the derivatives in the parameters are.

        0 if that is no more than something, or the model varies by less, or wherever coordinates are a little longer.
        """
        scaled = [v * unit for v, unit in zip(x, units, strict=True)]
        try:
            value, at = surface.slopes(points, scaled, along=False)[:2]
        except Exception:  # noqa: BLE001 - the function may refuse any coordinates but its own
            return 0.0
        with np.errstate(all="ignore"):
            varies = ~(np.ptp(value, axis=1) <= least * np.abs(value).max(axis=1))  # NaN does
        finite = np.isfinite(value) & np.isfinite(at[free]).all(axis=0)
        found = float(np.median(_apart(np.where(finite, at[free], 0.0), (finite.mean(axis=1) > 0.5) & varies)))
        return found if found > above and _is_steady(surface, points, scaled, value) else 0.0

    return _clearest(clear, count) if count else []


def _apart(at: Array, usable: Array) -> Array:
    """How far from dependent derivatives (parameter, sample, place) are, per sample; 0 where that cannot be told."""
    size = np.linalg.norm(at, axis=2, keepdims=True)
    with np.errstate(all="ignore"):
        unit = np.moveaxis(at / size, 1, 0)
        told = (size > UNTOLD * size.max(axis=0)).all(axis=(0, 2))
    usable = usable & np.isfinite(unit).all(axis=(1, 2)) & told
    out = np.zeros(len(unit))
    out[usable] = np.linalg.svd(unit[usable], compute_uv=False)[:, -1]
    return out


def _is_steady(surface: Surface, points: Array, x: list[Array], value: Array) -> bool:
    """Whether a model changes less where coordinates are a little longer than it does from one to another."""
    with np.errstate(all="ignore"):
        longer = surface.values(points, [v * LONGER for v in x])
        change, others = (np.median(np.abs(d), axis=1) for d in (longer - value, value - np.roll(value, 1, axis=1)))
        return bool(np.mean(change > STEADY * others) < 0.5)


def _clearest(clear: Callable[[list[float], float, float], float], count: int) -> list[float]:
    """The units for which something is largest: all of them changed together, then one by one."""
    best = [1.0] * count
    every = [list(range(count)), *([k] for k in range(count) if count > 1)]
    for least in (VARIES, 0.0):  # a model with an origin of its own varies little wherever it is seen
        most = max(clear(best, least, 0.0), TOLD / CLEARER)
        if most > CLEAR:
            break
        for which in every:
            before, needed = best, CLEARER * most
            for power in sorted(range(-DECADES, DECADES + 1), key=abs):
                units = [10.0**power * u if k in which else u for k, u in enumerate(before)]
                if (found := clear(units, least, needed)) > 0:
                    best, most, needed = units, found, found
        if most > TOLD:
            break
    return best


def measure(surface: Surface, free: list[int], start: Array) -> Symmetry:
    """Measure the symmetries of a model in its ``free`` parameters; the others are at ``start``."""
    rng, unsure = np.random.default_rng(0), list[tuple[Array, list[Array], Slopes]]()
    rest = [k for k in range(len(start)) if k not in free]
    for points, x in _probes(surface, len(start), rng):
        points[rest] = start[rest, None]
        at = _slopes(surface, points, x)
        if at is not None and _is_usable(at).sum() > SAMPLES // 2:
            unsure.append((points, x, at))
            if (_moves(at)[free].sum(axis=1) > SAMPLES // 2).all():
                return _measured(surface, free, points, x, at)
    if unsure:  # some parameters make no difference anywhere
        return _measured(surface, free, *unsure[0])
    return Symmetry([], list(free), [None] * len(surface.x), [None] * len(surface.x), None, left=True)


def _is_usable(at: Slopes) -> Flags:
    """The points where the model and all derivatives are finite, at some observation."""
    usable = np.isfinite(at.value) & np.isfinite(at.params).all(axis=0)
    return np.asarray(usable.any(axis=1))


def _moves(at: Slopes) -> Flags:
    """Whether a parameter makes a difference to the model (parameter, point)."""
    finite = np.isfinite(at.value) & np.isfinite(at.params).all(axis=0)
    return np.asarray((np.where(finite, at.params, 0.0) != 0).any(axis=2))


def _slopes(surface: Surface, points: Array, x: list[Array]) -> Slopes | None:
    """Slopes; those in the coordinates are not finite where the model cannot be differentiated in them.

    None if it cannot be seen there.
    """
    for along in (True, False):
        with contextlib.suppress(Exception):  # the function may do with coordinates what it likes
            at = surface.slopes(points, x, along=along)
            unknown = np.full((len(x), *at.value.shape), np.nan)
            return at if along else at._replace(scaled=unknown, shifted=unknown)
    return None


def _probes(surface: Surface, count: int, rng: np.random.Generator) -> Iterator[tuple[Array, list[Array]]]:
    """Parameters and coordinates: of order 1, coordinates of both signs, those of the data, parameters of any size.

    The last is for models with constants of their own, such as a temperature that others are compared with.
    """
    for low, high in ((0.5, 2.0), (-2.0, 2.0)) if surface.movable else ():
        yield _samples(count, rng), surface.ordered([np.asarray(rng.uniform(low, high, x.shape)) for x in surface.x])
    yield _samples(count, rng), surface.x
    found = [np.empty((count, 0))]
    for _ in range(STREWN):
        points = np.array([of_any_size(surface.x, SAMPLES, rng) for _ in range(count)])
        at = surface.slopes(points, along=False)
        found.append(points[:, _is_usable(at) & _moves(at).all(axis=0)])
    points = np.concatenate(found, axis=1)[:, :SAMPLES]
    if points.size:
        yield points, surface.x


def of_any_size(x: list[Array], count: int, rng: np.random.Generator) -> Array:
    """Values of a parameter of which nothing is known: of any size, or a place among the coordinates."""
    ranges = [v for v in map(finite, x) if np.ptp(v) > 0] or [np.array([0.0, 1.0])]
    of = ranges[rng.integers(len(ranges))]
    u, kind, sign = latin(3, count, rng)
    size = np.where(sign < NEGATIVE, -1.0, 1.0) * 10.0 ** (6 * u - 3) * np.ptp(of) ** np.floor(3 * kind - 1)
    place = of.min() + np.ptp(of) * (1.2 * u - 0.1)
    return np.where(rng.random(count) < PLACES, place, size)


def finite(x: Array) -> Array:
    """The finite values of a coordinate; 0 if there are none."""
    there = x[np.isfinite(x)]
    return there if there.size else np.zeros(1)


def _samples(count: int, rng: np.random.Generator) -> Array:
    """Parameters of order 1, most of them positive."""
    size = np.exp(rng.normal(0.0, 0.5, (count, SAMPLES)))
    return np.where(rng.random((count, SAMPLES)) < 0.8, size, -size)


def _measured(surface: Surface, free: list[int], points: Array, x: list[Array], at: Slopes) -> Symmetry:
    linear = _linear(surface, free, points, x, at)
    bent = [k for k in free if k not in linear]
    rows = [free.index(k) for k in bent]
    scale, shift = (
        [flow(at.params[free], -t, points[bent], rows) for t in several] for several in (at.scaled, at.shifted)
    )
    shift = [
        _by_lengths(of, at.params[free], -t, points[bent], rows) if f is None and of is not None else f
        for f, of, t in zip(shift, scale, at.shifted, strict=True)
    ]
    none = points.copy()
    none[linear] = 0.0
    left = surface.values(none, x)  # a difference would lose what is small beside the linear terms
    size = np.nanmax(np.where(np.isfinite(at.value), np.abs(at.value), np.nan), axis=1, initial=0.0)
    there = np.abs(left) > CLOSED * (size[:, None] + np.finfo(float).tiny)
    something = bool((there & np.isfinite(left)).any())
    rise = flow(at.params[bent], left, points[bent], list(range(len(bent)))) if something and bent else None
    return Symmetry(linear, bent, scale, shift, rise, something)


def _linear(surface: Surface, free: list[int], points: Array, x: list[Array], at: Slopes) -> list[int]:
    """The largest set of parameters on which the derivatives in them do not depend."""
    size = np.abs(at.params[free]).max(axis=2, initial=0.0, where=np.isfinite(at.params[free]))
    meet = np.zeros((len(free), len(free)), bool)
    for i, k in enumerate(free):
        other = points.copy()
        other[k] *= 1.3
        there = surface.slopes(other, x, along=False)
        change = there.params[free] - at.params[free]
        moved = np.abs(change).max(axis=2, initial=0.0, where=np.isfinite(change))
        meet[:, i] = (moved > CLOSED**1.5 * size).any(axis=1)
        along = (other[k] - points[k])[:, None] * at.params[k]  # what is wrapped has slopes as if it were not
        off = there.value - at.value - along
        with np.errstate(invalid="ignore"):
            meet[i, i] |= bool((np.abs(off) > CLOSED * (np.abs(at.value) + np.abs(along))).any())
    meet |= meet.T
    alone = [i for i in range(len(free)) if not meet[i, i]]
    if len(alone) <= MOST_SUBSETS:
        several = (c for n in range(len(alone), -1, -1) for c in itertools.combinations(alone, n))
        best = next(c for c in several if not meet[np.ix_(c, c)].any())
    else:
        chosen: list[int] = []
        for i in sorted(alone, key=lambda i: meet[i].sum()):
            if not meet[i, chosen].any():
                chosen.append(i)
        best = tuple(sorted(chosen))
    return [free[i] for i in best]


def _by_lengths(scale: Flow, columns: Array, target: Array, points: Array, rows: list[int]) -> Flow | None:
    """A shift whose velocities follow the reciprocals of parameters that grow with the unit, such as a period."""
    lengths = [i for i in range(len(rows)) if scale.weights[1 + i, i] > 0]
    for some in (c for n in range(1, 1 + len(lengths)) for c in itertools.combinations(lengths, n)):
        found = flow(columns, target, turned(points, some), rows)
        if found is not None and not found.weights[:, list(some)].any():
            return found._replace(turned=some)
    return None


def flow(columns: Array, target: Array, points: Array, rows: list[int]) -> Flow | None:
    """The velocities with which columns (parameter, point, observation) make up a target; None if they cannot.

    Where one observation outgrows all others, as near a pole in an exponent, that shows if all of them count the same.
    A column of no ``rows`` may be proportional to one, as of the size of what begins at once and decays: without it
    there is only one answer.
    """
    found = _flow(columns, target, points, rows)
    if found is None:
        size = np.abs(columns).max(axis=0, initial=0.0)
        with np.errstate(all="ignore"):
            found = _flow(columns / size, target / size, points, rows)
    for k in (k for k in range(len(columns)) if found is None and k not in rows and rows):
        less = [i - (i > k) for i in rows]
        found = _flow(np.delete(columns, k, axis=0), target, points, less) if found is None else found
    return found


def _flow(columns: Array, target: Array, points: Array, rows: list[int]) -> Flow | None:
    speeds, used = [], []
    some = np.linspace(0, target.shape[1] - 1, min(POINTS, target.shape[1])).astype(int)
    for i in range(target.shape[0]):
        a, b = columns[:, i, some].T, target[i, some]
        there = np.isfinite(a).all(axis=1) & np.isfinite(b)
        a, b = a[there], b[there]
        size = np.linalg.norm(a, axis=0)
        if len(b) <= a.shape[1] or not size.all():
            continue
        v, _, _, spectrum = np.linalg.lstsq(a / size, b, rcond=1e-14)
        if np.linalg.norm(a / size @ v - b) > CLOSED * np.linalg.norm(b):
            return None
        rounding = ROUNDING * np.linalg.norm(b) / (spectrum[-1] * size + np.finfo(float).tiny)
        if (rounding > DISTINCT * (1 + np.abs(v / size)))[rows].any():
            continue
        speeds.append((v / size)[rows])
        used.append(i)
    if not rows:
        return Flow(np.zeros((1, 0)))
    known = features(points[:, used])
    if len(used) < len(known) + 3:
        return None
    speed = np.array(speeds).T
    weights = np.linalg.lstsq(known.T, speed.T, rcond=1e-12)[0]
    scale = np.abs(speed).max(axis=1) + 1e-3
    if (np.abs(weights.T @ known - speed) > 1e-4 * scale[:, None]).any():
        return None
    weights[np.abs(weights) < 1e-5] = 0.0
    near = np.round(2 * weights) / 2
    return Flow(np.where(np.abs(weights - near) < 1e-4, near, weights))


class Exponents(NamedTuple):
    """How parameters follow the units of the observations (first row) and of each coordinate.

    Attributes
    ----------
    powers : (unit, parameter): a parameter grows like this power of the unit's number; NaN if not by a power
    places : (unit, parameter): whether it moves with the origin of the coordinate
    """

    powers: Array
    places: Array


def exponents(surface: Surface, start: Array) -> Exponents:
    """Measure how all parameters follow changes of units."""
    rng, every = np.random.default_rng(0), list(range(len(start)))
    unknown = np.full((1 + len(surface.x), len(start)), np.nan)
    for points, x in _probes(surface, len(start), rng):
        at = _slopes(surface, points, x)
        if at is not None and np.isfinite(at.value).any(axis=1).sum() > SAMPLES // 2:
            scales = [flow(at.params, t, points, every) for t in (at.value, *-at.scaled)]
            shifts = [None, *(flow(at.params, -t, points, every) for t in at.shifted)]
            found = [f for f in scales if f is not None]
            powers = np.array([_powers(f) for f in found]) if len(found) == len(scales) else unknown
            places = [np.zeros(len(start)) if f is None else f.weights[0] == 1 for f in shifts]
            return Exponents(powers, np.array(places, dtype=bool))
    return Exponents(unknown, np.zeros(unknown.shape, bool))


def _powers(flow: Flow) -> Array:
    """The factors of a flow that multiplies each parameter; NaN where it does something else."""
    q = flow.weights.shape[1]
    own = flow.weights[1 : 1 + q]
    powers = np.diag(own).copy()
    rest = flow.weights.copy()
    rest[1 + np.arange(q), np.arange(q)] = 0.0
    powers[rest.any(axis=0)] = np.nan
    return powers


def latin(rows: int, count: int, rng: np.random.Generator) -> Array:
    """Rows of numbers between 0 and 1, evenly spread in each: a Latin hypercube."""
    order = np.array([rng.permutation(count) for _ in range(rows)]).reshape(rows, count)
    return np.asarray((order + rng.random((rows, count))) / count)
