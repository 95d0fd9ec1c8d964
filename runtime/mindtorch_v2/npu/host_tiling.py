"""The host side of custom-operator projects, as far as kernels need it: the tiling structs that it declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opschema.tiling import BUILT_IN, HostTiling, TilingClass, TilingError, TilingField, read_tiling_file

from .. import _core
from .build_errors import BuildError
from .structs import Struct, struct

__all__ = ["device_header", "is_host_source", "read_struct"]

_TILING_KEY = "TILING_KEY_VAR"
_REGISTERED = """\
using MtsimDefaultTiling = STRUCT_OF_HOST;
#undef REGISTER_TILING_DEFAULT
#define REGISTER_TILING_DEFAULT(STRUCT) \\
  static_assert(std::is_same_v<MtsimDefaultTiling, STRUCT>, "the host registers another tiling struct than the kernel")
"""


def is_host_source(path: Path) -> bool:
    """Whether a source declares tiling structs and no kernels: it is read, and not compiled."""
    text = path.read_text(errors="replace")
    return "BEGIN_TILING_DATA_DEF" in text and "__global__" not in text


def device_header(name: str, hosts: Sequence[Path], defines: Mapping[str, object]) -> str:
    """What the kernels of a library see of their host: its structs, and the one that GET_TILING_DATA reads.

    Raises ``BuildError`` for a declaration that cannot be read.
    """
    key = defines.get(_TILING_KEY)
    tiling = HostTiling({}, {})
    for path in hosts:  # which may name the structs of those before it
        tiling = _read(name, path, tiling)
    default = tiling.default(int(str(key), 0) if key is not None else None)
    classes = tiling.classes
    return "".join(
        [
            "// The tiling structs of " + ", ".join(path.name for path in hosts) + ".\n#pragma once\n",
            "#include <kernel_operator.h>\n",
            *(item.declaration() for item in classes.values()),
            "namespace optiling {\n" + "".join(f"using ::{item};\n" for item in classes) + "}\n",
            # Where the kernel names none either, the compiler says this name, and build_errors what it means.
            f"#define MtsimDefaultTiling MtsimDefaultTilingOf{'Several' if tiling.registered else 'None'}\n"
            if default is None
            else _REGISTERED.replace("STRUCT_OF_HOST", default.name),
        ]
    )


def read_struct(file: Path, name: str) -> Struct:
    """The tiling struct of a name that a host file declares. Raises ``BuildError`` where it declares none."""
    tiling = _read(name, file, HostTiling({}, {}))
    if name not in tiling.classes:
        known = ", ".join(tiling.classes) or "none"
        raise BuildError(f"{file} declares no tiling struct {name!r}; it declares {known}")
    return _struct(tiling.classes[name], tiling.classes)


def _read(name: str, path: Path, known: HostTiling) -> HostTiling:
    try:
        return read_tiling_file(path, known)
    except FileNotFoundError:
        raise BuildError(f"{name!r}: there is no file {path}") from None
    except TilingError as error:
        raise BuildError(f"{name!r}: {path}:{error.line}: {error}") from None


def _struct(of: TilingClass, classes: Mapping[str, TilingClass]) -> Struct:
    return struct(*((field.name, _type(field, classes)) for field in of.fields))


def _type(field: TilingField, classes: Mapping[str, TilingClass]) -> Any:
    if field.is_struct:
        if field.type in BUILT_IN:  # which a tiling function of CANN fills, or the user word by word
            return struct(("words", (_core.c_types["i32"], BUILT_IN[field.type])))
        return _struct(classes[field.type], classes)
    scalar = _core.c_types["bool_" if field.scalar == "bool" else field.scalar]
    return scalar if field.length is None else (scalar, field.length)
