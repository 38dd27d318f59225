"""Tests of the backends: the table of operations on each, and what each promises beside it."""
