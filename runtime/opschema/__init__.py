"""The schema grammar that the generator and the runtime share: types, parse, print. Standard library only."""

from .defaults import Default, Identifier
from .errors import SchemaError
from .model import Argument, Return, Schema, SchemaKind
from .parse import parse_schema
from .types import BASE_TYPES, Alias, BaseType, ListType, OptionalType, Type, base_of
from .updates import update_fault

__all__ = [
    "BASE_TYPES",
    "Alias",
    "Argument",
    "BaseType",
    "Default",
    "Identifier",
    "ListType",
    "OptionalType",
    "Return",
    "Schema",
    "SchemaError",
    "SchemaKind",
    "Type",
    "base_of",
    "parse_schema",
    "update_fault",
]
