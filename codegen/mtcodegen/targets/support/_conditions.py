"""The words of conditions. In a generated package this file is `opschema`'s own, so that it needs nothing of ours."""

from opschema.conditions import expectation, names_of, otherwise, text_of

__all__ = ["expectation", "names_of", "otherwise", "text_of"]
