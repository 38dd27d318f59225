"""Order: sort, median, quantile."""

import numpy as np

from tests.support.grid import entry


def along(f):
    return lambda x, dim: x.copy(data=f(x.to_numpy(), axis=x.dims.index(dim), kind="stable"))


entry("sort", along(np.sort))
entry("argsort", along(np.argsort))
entry("median", lambda x, *more, **kw: x.median(*more, **kw))
entry("quantile", lambda x, q, dim: x.quantile(q, dim).drop_vars("quantile"))
