"""ExecuTorch's functions.yaml -> imported operators."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingOf

import opschema
from mtcodegen.diagnostics import suggest
from mtcodegen.importer.gradients import DerivativeTable
from mtcodegen.importer.model import Imported, Kernel, Note
from mtcodegen.importer.native import DEVICES, python_kernel
from mtcodegen.source import Mapping, Node, Scalar, Sequence
from mtcodegen.torchyaml.entries import VARIANTS, EntryReader, shown, split_names

__all__ = ["ExecutorchReader", "is_executorch"]

_KEYS = ("op", "func", "kernels", "dispatch", "device", "variants", "tags", "type_alias", "dim_order_alias")
_KERNEL_KEYS = ("arg_meta", "kernel_name", "device")
_NULLS = ("", "null", "~")
# ExecuTorch's names of dtypes, and ours.
_DTYPES = {
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Float": "float32",
    "Double": "float64",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}


def is_executorch(document: Node | None) -> bool:
    """Whether a list of entries is in ExecuTorch's form."""
    items = document.items if isinstance(document, Sequence) else []
    return any(isinstance(item, Mapping) and ("op" in item.entries or "kernels" in item.entries) for item in items)


class ExecutorchReader(EntryReader):
    """Reads entries; ``op: add.out`` takes its schema from ``schemas``, those of native_functions.yaml by name."""

    def __init__(self, schemas: MappingOf[str, opschema.Schema], derivatives: DerivativeTable, kernels: str) -> None:
        super().__init__()
        self.schemas = schemas
        self.derivatives = derivatives
        self.kernels = kernels

    def operators(self, document: Node | None) -> list[Imported]:
        """The operators of a file."""
        found = [self.entry(node) for node in self.items(document, "functions.yaml")]
        return [item for item in found if item is not None]

    def entry(self, node: Mapping) -> Imported | None:
        """One operator, None where its schema is not known."""
        self.check_keys(node, _KEYS, ())
        named = self.named_schema(node)
        if named is None:
            return None
        place, schema = named
        variants = self.choices(node, "variants", VARIANTS) or ("function",)
        imported = Imported(schema, place.span, variants)
        devices = self.devices(node, imported)
        imported.add_tags(self.tags(node))
        kernels = node.get("kernels")
        for item in kernels.items if isinstance(kernels, Sequence) else []:
            if isinstance(item, Mapping):
                self.kernel(item, node, devices, imported)
            else:
                self.fault("MT112", f"a kernel is a mapping, and this is a {item.kind}", item)
        if kernels is not None and not isinstance(kernels, Sequence):
            self.fault("MT112", f"`kernels` is a list, and this is a {kernels.kind}", kernels)
        self.dispatch(node.get("dispatch"), imported)
        self.derivatives.add_backward(imported, composite=False)
        return imported

    def named_schema(self, node: Mapping) -> tuple[Scalar, opschema.Schema] | None:
        """The schema of an entry, and where it is named."""
        func, name = self.scalar(node, "func"), self.scalar(node, "op")
        if func is not None:
            schema = self.schema(func)
            return None if schema is None else (func, schema)
        if name is None:
            self.fault("MT111", "`op` or `func` is missing", node)
            return None
        found = self.schemas.get(name.value.removeprefix("aten::"))
        if found is None:
            hint = (
                suggest(name.value, self.schemas)
                if self.schemas
                else "give the schemas: --schemas native_functions.yaml"
            )
            self.fault("MT601", f"the schema of `{name.value[:60]}` is not known", name, hint)
            return None
        return name, found

    def devices(self, node: Mapping, imported: Imported) -> tuple[str, ...]:
        """The devices of an entry or a kernel; those that we do not have are noted."""
        known: list[str] = []
        for item in self.scalars(node.get("device"), "device"):
            name = item.value.lower()
            if name in DEVICES.values():
                known.append(name)
            else:
                imported.notes.append(Note(f"device: {item.value}", "there is no such device here", item.span))
        return tuple(known)

    def kernel(self, node: Mapping, entry: Mapping, devices: tuple[str, ...], imported: Imported) -> None:
        """Take over one kernel."""
        self.check_keys(node, _KERNEL_KEYS, ("kernel_name",))
        name = self.scalar(node, "kernel_name")
        if name is None or not self.is_function(name):
            return
        own = self.devices(node, imported) or devices or ("cpu",)
        dtypes = self.dtypes(node.get("arg_meta"), entry, imported)
        called = f"{self.kernels}:{name.value.rpartition('::')[2]}" if self.kernels else ""
        reason = f"a C++ kernel, in place of which `{called}` is called" if called else "a C++ kernel"
        imported.notes.append(Note(f"kernel_name: {name.value}", reason, name.span))
        if called:
            imported.kernels.append(Kernel(own, called, dtypes))

    def dtypes(self, meta: Node | None, entry: Mapping, imported: Imported) -> tuple[str, ...]:
        """The dtypes of a kernel, where they are the same for all of its arguments."""
        if meta is None or (isinstance(meta, Scalar) and meta.value in _NULLS):
            return ()
        if not isinstance(meta, Mapping):
            self.fault("MT112", f"`arg_meta` is a mapping, and this is a {meta.kind}", meta)
            return ()
        found: set[tuple[str, ...]] = set()
        for name, (key, value) in meta.entries.items():
            words = [item.value for item in self.scalars(value, "arg_meta")]
            found.add(tuple(sorted(_DTYPES.get(word, word) for word in self.alias(entry, "type_alias", words[:1]))))
            orders = self.alias(entry, "dim_order_alias", words[1:])
            imported.notes.append(
                Note(f"arg_meta {name}: {', '.join(words)} = {', '.join(orders)}", "an order of dimensions", key.span)
            )
        same = next(iter(found)) if len(found) == 1 else ()
        if not same or any(dtype not in _DTYPES.values() for dtype in same):
            text = f"arg_meta dtypes: {'; '.join(', '.join(item) for item in sorted(found))}"
            imported.notes.append(Note(text, "a kernel's dtypes are those of all its tensors", meta.span))
            return ()
        return same

    def alias(self, entry: Mapping, key: str, words: Iterable[str]) -> list[str]:
        """What the words stand for in ``type_alias`` or ``dim_order_alias``."""
        aliases = entry.get(key)
        listed: list[str] = []
        for word in words:
            value = aliases.get(word) if isinstance(aliases, Mapping) else None
            if value is None:
                listed.append(word)
            else:
                listed += [shown(item) for item in (value.items if isinstance(value, Sequence) else [value])]
        return listed

    def dispatch(self, node: Node | None, imported: Imported) -> None:
        """The older form of kernels: ``dispatch: {CPU: name}``."""
        if node is None:
            return
        if not isinstance(node, Mapping):
            self.fault("MT112", f"`dispatch` is a mapping, and this is a {node.kind}", node)
            return
        for keys, (key, value) in node.entries.items():
            devices = [DEVICES[name] for name in split_names(keys) if name in DEVICES]
            name = value.value if isinstance(value, Scalar) else ""
            imported.notes.append(Note(f"{keys}: {name}", "a C++ kernel", key.span))
            if self.kernels and devices:
                imported.kernels.append(python_kernel(imported.schema, devices, self.kernels))
