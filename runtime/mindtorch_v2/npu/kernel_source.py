"""What a kernel's source says: the kernels it defines, and the launch stub generated for them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
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


@dataclass(frozen=True)
class _Definition:
    """A kernel's definition in a text without comments: where it starts, what stands before its name, and its body."""

    start: int
    qualname: str
    parameters: tuple[Parameter, ...]
    is_template: bool
    qualifiers: str
    body: str


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
_RUNS_ON = re.compile(r"\b(?:__(?P<only>cube|vector)__|__mix__\s*\(\s*(?P<cubes>[01])\s*,\s*(?P<vectors>[012])\s*\))")
_DECLARED = re.compile(
    r"(?:\bif\s*\(\s*(?P<key>\w+)\s*==\s*\(\s*(?P<wanted>\w+)\s*\)\s*\)\s*)?"  # as KERNEL_TASK_TYPE has it
    r"::mtsim::declare_task\s*\(\s*(?P<type>KERNEL_TYPE_\w+)\s*\)"
)
_BARRIER = re.compile(r"\b(?:SyncAll|IBWait|CrossCoreSetFlag\s*<\s*(?P<mode>\w+))\b")
_RAW_FLAG = re.compile(r"\bffts_cross_core_sync\s*\((?:[^;]*?\bGetffstMsg\s*\(\s*(?P<mode>\w+)|)")
_MULTIPLIES = re.compile(r"\b(?:Mmad|MmadImpl|Matmul|MatmulImpl|Fixpipe|LoadData\w*)\b")
_ASKED = re.compile(r"(?P<not>!\s*)?::mtsim::runs_cube\b|\bg_coreType\s*[=!]=\s*(?:AscendC::)?(?P<kind>AI[CV])\b")
_RETURNS_ON_VECTOR = re.compile(
    r"\bif\s*\(\s*(?:\(?\s*!\s*::mtsim::runs_cube\(\)|g_coreType\s*==\s*(?:AscendC::)?AIV)\s*\)?\s*\)?\s*\{?\s*return\b"
)
_QUALIFIER = re.compile(r"\b(?:__gm__|__aicore__|__restrict__|__restrict|restrict|const|volatile|struct)\b")


def scan_kernels(source_text: str, path: str) -> list[KernelSignature]:
    """The kernels (``__global__`` functions that are not templates) defined in a source, in order.

    ``source_text`` may be the file as written, or the preprocessor's output, whose line markers then say where
    each definition stands. Definitions inside macros are seen only in the latter. Declarations are skipped.
    """
    markers = _line_markers(source_text, path)
    found: list[KernelSignature] = []
    for kernel in _definitions(_blank(source_text)):
        if not kernel.is_template:
            where, line = _location(markers, source_text, kernel.start)
            name = kernel.qualname.rpartition("::")[2]
            found.append(KernelSignature(name, kernel.qualname, kernel.parameters, where, line))
    return found


def kernel_tasks(source_text: str, path: str, library_headers: Sequence[Path]) -> dict[str, str]:
    """What kernels run on, by their names: a ``KernelMetaType``, where their definitions say it, or do by what they do.

    ``source_text`` is the preprocessor's output for ``path``. Qualifiers (``__mix__(1, 2)``) come first, then the
    declaration of the tiling key that the source is built with, then the one of all. Where matrices are multiplied, a
    kernel that says nothing is what it is by its own questions for the kind of core, as the chip's compiler has it.
    """
    text = _blank(source_text)
    multiplies = next(_in_source(_MULTIPLIES, text, source_text, path, library_headers), None) is not None
    tasks = {}
    for kernel in _definitions(text):
        task = (
            _qualified(kernel.qualifiers) or _declared(kernel.body) or (_supposed(kernel.body) if multiplies else None)
        )
        if task is not None:
            tasks[kernel.qualname] = task
    return tasks


def _qualified(qualifiers: str) -> str | None:
    match = _RUNS_ON.search(qualifiers)
    if match is None:
        return None
    if match["only"]:
        return "KERNEL_TYPE_AIC_ONLY" if match["only"] == "cube" else "KERNEL_TYPE_AIV_ONLY"
    return {"1,0": "KERNEL_TYPE_MIX_AIC_1_0", "0,1": "KERNEL_TYPE_MIX_AIV_1_0"}.get(
        f"{match['cubes']},{match['vectors']}", f"KERNEL_TYPE_MIX_AIC_1_{match['vectors']}"
    )


def _declared(body: str) -> str | None:
    default = None
    for match in _DECLARED.finditer(body):
        if match["key"] is None:
            default = match["type"]
        elif _whole(match["key"]) == _whole(match["wanted"]):
            return match["type"]
    return default


def _supposed(body: str) -> str | None:
    """A mixed kernel with two vector cores does something on both kinds; one that returns on vector cores has none."""
    kinds = {match["kind"] or ("AIV" if match["not"] else "AIC") for match in _ASKED.finditer(body)}
    if len(kinds) == 2 or (kinds and re.search(r"\belse\b", body)):
        return "KERNEL_TYPE_MIX_AIC_1_2"
    return "KERNEL_TYPE_AIC_ONLY" if _RETURNS_ON_VECTOR.search(body) else None


def _whole(text: str) -> int | str:
    """A number of C, or what else stands there."""
    number = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", text)
    return int(number[1], 0) if number else text


def _definitions(text: str) -> Iterator[_Definition]:
    """The definitions of ``__global__`` functions, in order."""
    scopes: list[str] = []
    for token in _TOKEN.finditer(text):
        if token["open"]:
            scopes.append("")
        elif token["namespace"] is not None:
            scopes.append(token["namespace"].replace("inline", "").strip())
        elif token["close"]:
            if scopes:
                scopes.pop()
        elif kernel := _kernel_at(text, token.start()):
            head, parameters, body = kernel
            before = re.split(r"[;{}]", text[max(0, token.start() - 400) : token.start()])[-1]
            qualname = "::".join([scope for scope in scopes if scope] + [head["name"]])
            yield _Definition(
                token.start(),
                qualname,
                parameters,
                re.search(r"\btemplate\s*<", before) is not None,
                before + text[token.start() : head.start("name")],
                body,
            )


def uses_block_barrier(source_text: str, path: str, library_headers: Sequence[Path]) -> bool:
    """Whether blocks wait for each other, so that all must be alive at once.

    ``source_text`` is the preprocessor's output for ``path``; what comes from ``library_headers`` does not count.
    """
    text = _blank(source_text)
    return any(
        use["mode"] is None or _constant(text, use["mode"]) == 0  # a flag of mode 0 is for all blocks
        for pattern in (_BARRIER, _RAW_FLAG)
        for use in _in_source(pattern, text, source_text, path, library_headers)
    )


def _in_source(
    pattern: re.Pattern[str], text: str, source_text: str, path: str, library_headers: Sequence[Path]
) -> Iterator[re.Match[str]]:
    """Where a pattern stands in the user's own files."""
    markers = _line_markers(source_text, path)
    for match in pattern.finditer(text):
        where, _ = _location(markers, source_text, match.start())
        if not any(folder in Path(where).parents for folder in library_headers):
            yield match


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


def stub_source(
    source: Path, kernels: list[KernelSignature], tasks: Mapping[str, str], queue: str, host: Path | None
) -> str:
    """The translation unit that includes the user's source and exports each kernel's launch function.

    ``tasks`` is what kernels run on, ``host`` is what the source sees of its host side.
    """
    known = ", ".join(f'{{"{name}", {task}}}' for name, task in tasks.items())
    lines = [
        "#include <mtsim_stub.h>",  # first, as the compiler takes compiled headers for nothing else
        "#include <mtsim_key.h>",
        *([] if host is None else [f'#include "{host}"']),
        "#pragma GCC visibility push(default)",  # the user's functions are exported, the simulator's headers are not
        f'#include "{source}"',
        "#pragma GCC visibility pop",
        *([f"static const bool mtsim_tasks = ::mtsim::declare_tasks({{{known}}});"] if tasks else []),
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


def _kernel_at(text: str, start: int) -> tuple[re.Match[str], tuple[Parameter, ...], str] | None:
    """The head of the definition behind a qualifier, its parameters and its body."""
    head = _HEAD.search(text, start)
    if head is None or re.search(r"[;{}]", text[start : head.start()]):
        return None
    end = _closing(text, head.end() - 1)
    opened = re.compile(r"\s*\{").match(text, end + 1) if end >= 0 else None
    if opened is None:
        return None
    body = text[opened.end() : _closing(text, opened.end() - 1, "{}")]
    return head, _parameters(text[head.end() : end]), body


def _closing(text: str, opening: int, pair: str = "()") -> int:
    depth = 0
    for match in re.compile(f"[{re.escape(pair)}]").finditer(text, opening):
        depth += 1 if match[0] == pair[0] else -1
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


def _line_markers(text: str, path: str) -> list[tuple[int, str, int]]:
    """Where each run of lines comes from: (offset of its first line, file, number of that line)."""
    markers = [(0, path, 1)]
    markers += [(match.end() + 1, match[2], int(match[1])) for match in _LINE_MARKER.finditer(text)]
    return markers


def _location(markers: list[tuple[int, str, int]], text: str, position: int) -> tuple[str, int]:
    offset, path, line = markers[bisect_right(markers, position, key=lambda marker: marker[0]) - 1]
    return path, line + text.count("\n", offset, position)
