"""The loop IR: nodes, index arithmetic, printer, parser, verifier, NumPy interpreter."""
