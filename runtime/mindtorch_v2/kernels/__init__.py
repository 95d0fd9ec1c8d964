"""Kernels in Python, named by ``python:`` in the YAML of the built-in operators; each module is loaded at first use."""
