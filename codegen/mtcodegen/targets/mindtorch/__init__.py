"""Modules for the runtime, which those for PyTorch and MindSpore are made of too."""
