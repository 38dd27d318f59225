"""What the tests share: sample operands, oracles, references, tolerances."""
