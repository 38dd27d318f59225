"""Losses, with PyTorch's names, options and values; dims take the place of axes."""

from namedgrad.rules.losses import classification, ctc, embedding, margin, probability, regression

__all__ = ["classification", "ctc", "embedding", "margin", "probability", "regression"]
