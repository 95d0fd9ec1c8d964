"""The language of definitions. In a generated package this file and those beside it are `opschema`'s own."""

from opschema.definitions import *  # noqa: F403
from opschema.definitions import __all__ as __all__
