"""Steering derivatives."""

import numpy as np

from tests.support.grid import entry, points

entry("stop_gradient", lambda x: x, points=points({2.0: (2.0, 0.0), 0.0: (0.0, 0.0), np.inf: (np.inf, 0.0), np.nan: (np.nan, 0.0)}))
