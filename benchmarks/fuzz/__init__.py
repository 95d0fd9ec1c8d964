"""A search for calls that corrupt memory, hang, or are wrong: ``python -m benchmarks.fuzz``."""
