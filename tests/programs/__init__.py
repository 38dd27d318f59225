"""Random programs: their steps, how they are drawn, and the same programs in JAX."""
