"""The project's figures, each beside its peer in one run: ``python -m benchmarks``."""
