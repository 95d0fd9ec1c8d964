"""The language of definitions. In a generated package this file and those beside it are `opschema`'s own."""

from opschema.definitions import *  # noqa: F403 - what definitions are written with
from opschema.definitions import __all__ as __all__
