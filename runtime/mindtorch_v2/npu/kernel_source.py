"""What a kernel's source says: the kernels it defines, and the launch stub generated for them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: its declared type, its name, and whether it is a device pointer."""

    type: str
    name: str

    @property
    def is_pointer(self) -> bool:
        """Whether the launch passes a device address."""
        return self.type == "GM_ADDR" or self.type.endswith("*")


@dataclass(frozen=True)
class KernelSignature:
    """A kernel as its definition declares it; ``qualname`` includes its namespaces."""

    name: str
    qualname: str
    parameters: tuple[Parameter, ...]
    path: str
    line: int


# Comments and literals, which may contain anything.
_OPAQUE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_RAW_STRING = re.compile(r'R"([^\s()\\]{0,16})\(.*?\)\1"', re.DOTALL)
_LINE_MARKER = re.compile(r'^#\s*(?:line\s+)?(\d+)\s+"((?:\\.|[^"\\])*)"[^\n]*$', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*$", re.MULTILINE)
_TOKEN = re.compile(r"(?P<open>\{)|(?P<close>\})|namespace\b(?P<namespace>[\w:\s]*)\{|(?P<kernel>\b__global__\b)")
_HEAD = re.compile(r"\b(?:void)\b[^;{}()]*?\b(?P<name>[A-Za-z_]\w*)\s*\(")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?!define\b)(?:\\\n|[^\n])*$", re.MULTILINE)  # and all but definitions of macros
_LAUNCH = re.compile(r"(?P<kernel>[A-Za-z_][\w:#]*(?:<[^<>;{}]*>)?)(?P<open>\s*<<<)[^;{}]*?(?P<close>>>>)")
_MARKER = re.compile(r'# (?P<line>\d+) "(?P<file>(?:\\.|[^"\\])*)"(?P<flags>[ \d]*)$')
_IF_CONSTEXPR = re.compile(r"\bif\s+(?P<word>constexpr)\s*\(")
_CORE_TYPE = re.compile(r"\bg_coreType\b|\bruns_cube\b")
_QUALIFIER = re.compile(r"\b(?:__gm__|__aicore__|__restrict__|__restrict|restrict|const|volatile|struct)\b")


def scan_kernels(source_text: str, path: str) -> list[KernelSignature]:
    """The kernels (``__global__`` functions that are not templates) defined in a source, in order.

    ``source_text`` may be the file as written, or the preprocessor's output, whose line markers then say where
    each definition stands. Definitions inside macros are seen only in the latter. Declarations are skipped.
    """
    markers = _line_markers(source_text, path)
    text = _blank(source_text)
    scopes: list[str] = []
    found: list[KernelSignature] = []
    for token in _TOKEN.finditer(text):
        if token["open"]:
            scopes.append("")
        elif token["namespace"] is not None:
            scopes.append(token["namespace"].replace("inline", "").strip())
        elif token["close"]:
            if scopes:
                scopes.pop()
        else:
            kernel = _kernel_at(text, token.end())
            if kernel and not _is_template(text, token.start()):
                name, parameters = kernel
                where, line = _location(markers, source_text, token.start())
                qualname = "::".join([scope for scope in scopes if scope] + [name])
                found.append(KernelSignature(name, qualname, parameters, where, line))
    return found


def uses_block_barrier(source_text: str, path: str, library_headers: Sequence[Path]) -> bool:
    """Whether blocks wait for each other, so that all must be alive at once.

    ``source_text`` is the preprocessor's output for ``path``; what comes from ``library_headers`` does not count.
    """
    markers = _line_markers(source_text, path)
    text = _blank(source_text)
    for use in re.finditer(r"\b(?:SyncAll|IBWait|CrossCoreSetFlag\s*<\s*(?P<mode>\w+))\b", text):
        where, _ = _location(markers, source_text, use.start())
        mine = not any(folder in Path(where).parents for folder in library_headers)
        if mine and (use["mode"] is None or _constant(text, use["mode"]) == 0):  # a flag of mode 0 is for all blocks
            return True
    return False


def _constant(text: str, word: str) -> int | None:
    """What a number, or the name of a constant, stands for."""
    named = re.search(rf"\b{word}\s*=\s*(\w+)\s*;", text)
    try:
        return int(named[1] if named else word, 0)
    except ValueError:
        return None


def rewrite_launches(source_text: str, path: str, queue: str) -> str | None:
    """The source with each ``kernel<<<blocks, control, stream>>>`` as a call, its lines still those of ``path``.

    In macros too, where the kernel may be one of the macro's own arguments.

    None where there is nothing to rewrite.
    """
    text = _blank(source_text, _INCLUDE)
    pieces = []
    done = 0
    for launch in _LAUNCH.finditer(text):
        kernel = launch["kernel"]
        pieces += [
            source_text[done : launch.start()],
            f"::mtsim::on_stream<{kernel}>({queue}, ",
            source_text[launch.end("open") : launch.start("close")],
            ")",
        ]
        done = launch.end()
    if not pieces:
        return None
    return f'#line 1 "{path}"\n' + "".join(pieces) + source_text[done:]


def with_runtime_core_type(expanded: str) -> tuple[str, set[Path]] | None:
    """The preprocessor's output with ``if`` for each ``if constexpr`` that asks for the kind of core.

    What a kernel is compiled for on the chip, once for each kind, is known here when it runs. Headers of the system and
    of the simulator are included again, not repeated. Also the files whose text is repeated; None where nothing asks.
    """
    text = _blank(expanded)
    asking = [
        match
        for match in _IF_CONSTEXPR.finditer(text)
        if _CORE_TYPE.search(text, match.end(), _closing(text, match.end() - 1))
    ]
    if not asking:
        return None
    for match in reversed(asking):
        expanded = expanded[: match.start("word")] + expanded[match.end("word") :]
    return _included_again(expanded)


def _included_again(expanded: str) -> tuple[str, set[Path]]:
    """The preprocessor's output without what came from headers of the system and from the command line."""
    lines: list[str] = []
    files: set[Path] = set()
    current, dropped = "", 0  # the file that is repeated, and how deep it is in one that is not
    for line in expanded.split("\n"):
        marker = _MARKER.match(line)
        if marker is None:
            lines += [] if dropped else [line]
            continue
        flags = marker["flags"].split()
        if dropped:
            dropped += ("1" in flags) - ("2" in flags)
        elif "1" in flags and (current.startswith("<") or "3" in flags):
            lines += [] if current.startswith("<") else [f'#include "{marker["file"]}"']
            dropped = 1
        if not dropped:
            current = marker["file"]
            if not current.startswith("<") and not current.endswith("/"):
                files.add(Path(current).resolve())
                lines.append(f'# {marker["line"]} "{current}"')
    return "\n".join(lines) + "\n", files


def launch_function(concurrent: bool) -> str:
    """The simulator's function that queues a kernel; ``concurrent`` where its blocks wait for each other."""
    return "mtsim_launch_concurrent" if concurrent else "mtsim_launch"


def stub_source(source: Path, kernels: list[KernelSignature], queue: str, host: Path | None) -> str:
    """The translation unit that includes the user's source and exports each kernel's launch function.

    ``host`` is what the source sees of its host side.
    """
    lines = [
        "#include <mtsim_stub.h>",  # first, as the compiler takes compiled headers for nothing else
        "#include <mtsim_key.h>",
        *([] if host is None else [f'#include "{host}"']),
        "#pragma GCC visibility push(default)",  # the user's functions are exported, the simulator's headers are not
        f'#include "{source}"',
        "#pragma GCC visibility pop",
    ]
    for kernel in kernels:
        kernel_type = f"decltype(&::{kernel.qualname})"
        text_type = f"decltype(mtsim::describe(&::{kernel.qualname}))"
        declared = "".join(
            f",\n    mtsim::Signature<{kernel_type}>::Abi<{i}> p{i}" for i in range(len(kernel.parameters))
        )
        passed = "".join(f", p{i}" for i in range(len(kernel.parameters)))
        lines += [
            "",
            f'extern "C" MTSIM_EXPORT uint32_t aclrtlaunch_{kernel.name}(uint32_t blockDim, void* stream{declared}) {{',
            f"  using Launcher = mtsim::LauncherOf<&::{kernel.qualname}>;",
            f'  return Launcher::launch({queue}, "{kernel.name}", blockDim, stream{passed});',
            "}",
            f'extern "C" {{ extern MTSIM_EXPORT const {text_type} mtsim_signature_{kernel.name}; }}',
            f"constexpr {text_type} mtsim_signature_{kernel.name} =",
            f"    mtsim::describe(&::{kernel.qualname});",
        ]
    return "\n".join(lines) + "\n"


def _blank(text: str, directives: re.Pattern[str] = _DIRECTIVE) -> str:
    """The text with comments, literals and directives as spaces: positions and lines stay."""

    def spaces(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    for pattern in (_RAW_STRING, _OPAQUE, directives):
        text = pattern.sub(spaces, text)
    return text


def _kernel_at(text: str, start: int) -> tuple[str, tuple[Parameter, ...]] | None:
    head = _HEAD.search(text, start)
    if head is None or re.search(r"[;{}]", text[start : head.start()]):
        return None
    end = _closing(text, head.end() - 1)
    if end < 0 or not re.match(r"\s*\{", text[end + 1 :][:200]):
        return None
    return head["name"], _parameters(text[head.end() : end])


def _closing(text: str, opening: int) -> int:
    depth = 0
    for match in re.compile(r"[()]").finditer(text, opening):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.start()
    return -1


def _parameters(text: str) -> tuple[Parameter, ...]:
    pieces: list[str] = [""]
    depth = 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    pieces = [" ".join(_QUALIFIER.sub(" ", piece).split()) for piece in pieces]
    return tuple(_parameter(piece) for piece in pieces if piece and piece != "void")


def _parameter(text: str) -> Parameter:
    match = re.fullmatch(r"(?P<type>.*[\s*&>])(?P<name>[A-Za-z_]\w*)", text)
    if match is None or match["type"].strip() in ("unsigned", "signed"):
        return Parameter(_joined(text), "")
    return Parameter(_joined(match["type"]), match["name"])


def _joined(type_text: str) -> str:
    return re.sub(r"\s*\*", "*", type_text).strip()


def _is_template(text: str, position: int) -> bool:
    before = text[max(0, position - 400) : position]
    declaration = re.split(r"[;{}]", before)[-1]
    return re.search(r"\btemplate\s*<", declaration) is not None


def _line_markers(text: str, path: str) -> list[tuple[int, str, int]]:
    """Where each run of lines comes from: (offset of its first line, file, number of that line)."""
    markers = [(0, path, 1)]
    markers += [(match.end() + 1, match[2], int(match[1])) for match in _LINE_MARKER.finditer(text)]
    return markers


def _location(markers: list[tuple[int, str, int]], text: str, position: int) -> tuple[str, int]:
    offset, path, line = markers[bisect_right(markers, position, key=lambda marker: marker[0]) - 1]
    return path, line + text.count("\n", offset, position)
