"""Indexing: isel and take."""

import namedgrad as ng
from tests.support.grid import data_array, entry, sample


def isel(x, indexers):
    return x.isel({d: data_array(i) for d, i in indexers.items()})


entry(
    "isel",
    isel,
    samples=[
        sample("real(a,b,c)", indexers={"a": [0, 2, 2], "c": [1, 0, 1]}),
        sample("complex(a,b)", indexers={"b": slice(3, 0, -2)}),
        sample("real(a,b,c)", indexers={"b": ng.DimArray([[0, 1], [3, 3], [2, -1]], ("p", "q"))}),
        sample("real(a,b,c)", indexers={"a": ng.DimArray([0, 2, 2], "p"), "c": ng.DimArray([1, 0, 0], "p")}),
        sample("real(a,b,c)", indexers={"b": ng.DimArray([3, 0, 3, 1], "b"), "c": ng.DimArray([1, 0, 1, 1], "b")}),
        sample("real(a,b)", indexers={"a": -1, "b": ng.DimArray(2, ())}),
    ],
    single=False,
)
entry(
    "take",
    lambda x, index, dim: isel(x, {dim: index}),
    samples=[sample("real(a,b)", index=1, dim="b"), sample("real(a,b)", index=ng.DimArray([[0, 0]], ("p", "q")), dim="a")],
    single=False,
)
