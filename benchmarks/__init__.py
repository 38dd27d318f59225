"""How fast namedgrad is, in ratios to its peers: see README.md beside this file."""
