"""Fits against SciPy, closed forms and finite facts."""
