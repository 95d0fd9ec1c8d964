"""``mtcodegen import``: other systems' declarations of operators as ours.

``add_import_arguments(parser)`` declares the options, ``run_import(options)`` runs the command, and
``import_files(...)`` is the same from Python.
"""

from mtcodegen.importer.command import Import, add_import_arguments, import_files, run_import
from mtcodegen.importer.model import Note

__all__ = ["Import", "Note", "add_import_arguments", "import_files", "run_import"]
