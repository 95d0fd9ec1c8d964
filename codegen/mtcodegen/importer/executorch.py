"""ExecuTorch's functions.yaml -> imported operators."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingOf
from dataclasses import replace

import opschema
from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import suggest
from mtcodegen.importer.devices import DEVICES
from mtcodegen.importer.gradients import DerivativeTable
from mtcodegen.importer.model import Imported, Kernel, Note
from mtcodegen.importer.native import COMPOSITE, python_kernel
from mtcodegen.importer.pytorch.entries import DEVICE_CHECKS, VARIANTS, EntryReader, shown, shown_values, split_names
from mtcodegen.importer.pytorch.native import CPP_KEYS

__all__ = ["ExecutorchReader", "is_executorch"]

_ALIASES = ("type_alias", "dim_order_alias")  # of the first and of the second word of what `arg_meta` has
# An entry may have the keys of native_functions.yaml too, as far as ExecuTorch's are made of its entries.
_NOTED = CPP_KEYS | {"autogen": "a variant has an entry and kernels of its own here"}
_KEYS = ("op", "func", "kernels", "dispatch", "device", "variants", "tags", "device_check", *_ALIASES, *_NOTED)
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
    """Reads entries; ``op: add.out`` takes its schema from ``schemas``, those of native_functions.yaml by name.

    ``left_out`` are notes on entries without a kernel that can be carried over, where ``kernels`` was given.
    """

    def __init__(self, schemas: MappingOf[str, opschema.Schema], derivatives: DerivativeTable, kernels: str) -> None:
        super().__init__()
        self.schemas = schemas
        self.derivatives = derivatives
        self.kernels = kernels
        self.left_out: list[Note] = []
        self.seen: dict[str, Scalar] = {}

    def operators(self, document: Node | None) -> list[Imported]:
        """The operators of a file."""
        found = [self.entry(node) for node in self.items(document, "functions.yaml")]
        return [item for item in found if item is not None]

    def entry(self, node: Mapping) -> Imported | None:
        """One operator, None where its schema is not known, or it has no kernel."""
        self.check_keys(node, _KEYS, ())
        named = self.named_schema(node)
        if named is None:
            return None
        place, schema = named
        first = self.seen.setdefault(schema.qualname, place)
        if first is not place:
            self.duplicate(place, schema.qualname, first)
        imported = Imported(schema, place.span)
        imported.add_variants(self.choices(node, "variants", VARIANTS))
        devices = self.devices(node, imported, ("cpu",))
        imported.add_tags(self.tags(node))
        imported.device_check = "".join(self.choices(node, "device_check", DEVICE_CHECKS)[:1])
        imported.note_keys(node.place, shown_values(node, _NOTED), _NOTED)
        self.all_kernels(node, devices, imported)
        self.dispatch(node.get("dispatch"), imported)
        self.derivatives.add_backward(imported, composite=False)
        if self.kernels and not imported.kernels:
            self.left_out += [Note(str(schema), "it has no kernel that can be carried over", place.span)]
            self.left_out += imported.notes
            return None
        return imported

    def named_schema(self, node: Mapping) -> tuple[Scalar, opschema.Schema] | None:
        """The schema of an entry, and where it is named."""
        func, name = self.scalar(node, "func"), self.scalar(node, "op")
        if func is not None:
            schema = self.schema(func)
            return None if schema is None else (func, schema)
        if name is None:
            self.fault(Code.MT111, "`op` or `func` is missing", node)
            return None
        found = self.schemas.get(name.value.removeprefix("aten::"))
        if found is None:
            hint = (
                suggest(name.value, self.schemas)
                if self.schemas
                else "give the schemas: --schemas native_functions.yaml"
            )
            self.fault(Code.MT601, f"the schema of `{name.value[:60]}` is not known", name, hint)
            return None
        return name, found

    def devices(self, node: Mapping, imported: Imported, default: tuple[str, ...]) -> tuple[str, ...]:
        """The devices of an entry or a kernel; those that we do not have are noted, and may be all."""
        if "device" not in node.entries:
            return default
        known: list[str] = []
        for item in self.scalars(node.get("device"), "device"):
            name = item.value.lower()
            if name in DEVICES.values():
                known.append(name)
            else:
                imported.notes.append(Note(f"device: {item.value}", "there is no such device here", item.span))
        return tuple(dict.fromkeys(known))

    # ------------------------------------------------------------ kernels

    def all_kernels(self, node: Mapping, devices: tuple[str, ...], imported: Imported) -> None:
        """Take over the kernels of an entry, those for some dtypes before those for all: here, the first that fits."""
        kernels = node.get("kernels")
        if kernels is not None and not isinstance(kernels, Sequence):
            self.fault(Code.MT112, f"`kernels` is a list, and this is a {kernels.kind}", kernels)
        used: set[str] = set()
        taken: set[tuple[str, tuple[str, ...]]] = set()
        for item in kernels.items if isinstance(kernels, Sequence) else []:
            if not isinstance(item, Mapping):
                self.fault(Code.MT112, f"a kernel is a mapping, and this is a {item.kind}", item)
                continue
            for kernel in self.kernel(item, node, devices, imported, used):
                own = tuple(device for device in kernel.devices if (device, kernel.dtypes) not in taken)
                taken |= {(device, kernel.dtypes) for device in own}
                if own:
                    imported.kernels.append(replace(kernel, devices=own))
                elif kernel.dtypes:
                    reason = f"there is a kernel for {', '.join(kernel.dtypes)} before it"
                    imported.notes.append(Note(f"the kernel {kernel.python}", reason, item.span))
                else:
                    self.fault(Code.MT307, "this kernel never runs: the one before it takes everything", item)
        imported.kernels.sort(key=lambda kernel: not kernel.dtypes)
        self.note_aliases(node, used, imported)

    def kernel(
        self, node: Mapping, entry: Mapping, devices: tuple[str, ...], imported: Imported, used: set[str]
    ) -> list[Kernel]:
        """What a kernel is here: none, one, or one for each dtype that all of its tensors have."""
        self.check_keys(node, _KERNEL_KEYS, ("kernel_name",))
        name = self.scalar(node, "kernel_name")
        if name is None or not self.is_function(name):
            return []
        own = self.devices(node, imported, devices)
        dtypes = self.dtypes(node.get("arg_meta"), entry, imported, used)
        called = f"{self.kernels}:{name.value.rpartition('::')[2]}" if self.kernels and own and dtypes else ""
        reason = f"a C++ kernel, in place of which `{called}` is called" if called else "a C++ kernel"
        imported.notes.append(Note(f"kernel_name: {name.value}", reason, name.span))
        return [Kernel(own, called, item) for item in dtypes] if called else []

    def dtypes(self, meta: Node | None, entry: Mapping, imported: Imported, used: set[str]) -> list[tuple[str, ...]]:
        """The dtypes of all its tensors that a kernel is for, ``()`` for all; none where it is for something else.

        Tensors of one alias have the same dtype, of which each makes a kernel; those of several may have any.
        """
        if meta is None or (isinstance(meta, Scalar) and meta.value in _NULLS):
            return [()]
        if not isinstance(meta, Mapping):
            self.fault(Code.MT112, f"`arg_meta` is a mapping, and this is a {meta.kind}", meta)
            return []
        names = [argument.name for argument in imported.schema.arguments]
        found: dict[str, tuple[str, ...]] = {}
        for name, (key, value) in meta.entries.items():
            if name not in names:
                message = f"`{name[:60]}` is not an argument of {imported.schema.qualname}"
                self.fault(Code.MT608, message, key, suggest(name, names))
            words = [item.value for item in self.scalars(value, "arg_meta")]
            used |= {*words}
            types = self.alias(entry, _ALIASES[0], words[:1])
            found["".join(words[:1])] = tuple(sorted({_DTYPES.get(word, word) for word in types}))
            orders = self.alias(entry, _ALIASES[1], words[1:])
            if orders:
                text = f"arg_meta {name}: {', '.join(words)} = {', '.join(orders)}"
                imported.notes.append(Note(text, "an order of dimensions", key.span))
        same = {*found.values()}
        dtypes = next(iter(same)) if len(same) == 1 else ()
        if not dtypes or any(dtype not in _DTYPES.values() for dtype in dtypes):
            text = f"arg_meta dtypes: {'; '.join(', '.join(item) for item in sorted(same))}"
            imported.notes.append(Note(text, "a kernel's dtypes are those of all its tensors", meta.span))
            return []
        return [(dtype,) for dtype in dtypes] if len(found) == 1 else [dtypes]

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

    def note_aliases(self, entry: Mapping, used: set[str], imported: Imported) -> None:
        """Note the aliases that no kernel has."""
        for key in _ALIASES:
            aliases = entry.get(key)
            if isinstance(aliases, Mapping):
                for name, (place, value) in aliases.entries.items():
                    if name not in used:
                        text = f"{key} {name}: {shown(value)}"
                        imported.notes.append(Note(text, "no kernel reads it", place.span))
            elif aliases is not None:
                self.fault(Code.MT112, f"`{key}` is a mapping, and this is a {aliases.kind}", aliases)

    def dispatch(self, node: Node | None, imported: Imported) -> None:
        """The older form of kernels: ``dispatch: {CPU: name}``."""
        if node is None:
            return
        if not isinstance(node, Mapping):
            self.fault(Code.MT112, f"`dispatch` is a mapping, and this is a {node.kind}", node)
            return
        for key, value in node.entries.values():
            names = split_names(key.value)
            devices = [DEVICES[name] for name in names if name in DEVICES]
            imported.notes.append(Note(f"{key.value}: {shown(value)}", "a C++ kernel", key.span))
            if self.kernels and (devices or not COMPOSITE.isdisjoint(names)):
                imported.kernels.append(python_kernel(imported.schema, devices, self.kernels))
