"""Modules in Python and pages, planned: the values that templates are filled with."""
