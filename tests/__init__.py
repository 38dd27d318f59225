"""Tests of namedgrad."""
