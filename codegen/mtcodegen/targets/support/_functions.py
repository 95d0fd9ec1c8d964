"""What definitions call beside `op`. In a generated package this file is `opschema`'s own."""

from opschema.definitions._functions import *  # noqa: F403 - what definitions are written with
from opschema.definitions._functions import __all__ as __all__
