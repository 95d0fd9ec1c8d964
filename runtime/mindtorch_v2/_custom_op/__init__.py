"""``torch._custom_op``: what operators were made with before `library.custom_op`; programs of that time still do."""

from . import impl

__all__ = ["impl"]
