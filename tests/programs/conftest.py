"""JAX is installed by `nox -s fuzz` alone."""

import os

collect_ignore_glob = [] if "NAMEDGRAD_FUZZ" in os.environ else ["test_jax.py", "named_jax.py"]
