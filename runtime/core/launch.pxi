"""Bound kernels: calling a C symbol by declared types."""
