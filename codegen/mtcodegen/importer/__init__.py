"""Other systems' declarations of operators as ours: what ``mtcodegen import`` does."""

from mtcodegen.importer.command import Import, import_files
from mtcodegen.importer.model import Note

__all__ = ["Import", "Note", "import_files"]
