"""Does a test notice what an instruction does? Each function of the table is left out in turn: its tests have to fail.

``python -m tests.sim.ascendc.mutants [NAME...]`` builds the kernels of these tests so that calls of one name, chosen
when they run, do nothing; runs the tests of a source for each name that it calls, under the checker; and lists the
names that no test misses.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.sim.ascendc.table import ROOT, rows

KERNELS = Path("tests/sim/ascendc/kernels")
# What a kernel cannot be without, or asks for while it is compiled, is no call that may be left out.
CLASSES = {"GlobalTensor", "ListTensorDesc", "LocalMemAllocator", "LocalTensor", "Matmul", "TBuf", "TBufPool", "TPipe"}
CLASSES |= {"TQue", "TQueBind", "TQueSync", "TSCM", "TensorDesc", "Hccl", "AscendCUtils"}
# What the chip needs and the simulator does not: without it, every result is the same.
NOTHING = {"DataCacheCleanAndInvalid", "DataCachePreload", "GetSysWorkSpacePtr", "ICachePreLoad", "InitSocState"}
NOTHING |= {"SetAtomicType", "SetLoadDataBoundary", "SetMMLayoutTransform", "SetNextTaskStart", "SetSyncBaseAddr"}
NOTHING |= {"SetSysWorkspace", "SoftMaxFlashV2TilingFunc", "SoftMaxTilingFunc", "WaitPreTaskEnd", "dcci"}
NOTHING |= {"set_atomic_f16", "set_atomic_f32", "set_atomic_s32", "set_ffts_base_addr"}
PROLOGUE = """\
#include <cstdlib>
#include <cstring>
#include <type_traits>
// A call of the API, unless MTSIM_MUTANT is its name: then nothing, or the default of what it returns.
template <typename Call>
constexpr auto mtsim_call(const char* name, Call call) -> decltype(call()) {
  using Result = decltype(call());
  if (!std::is_constant_evaluated()) {
    const char* mutant = std::getenv("MTSIM_MUTANT");
    if (mutant != nullptr && std::strcmp(mutant, name) == 0) {
      if constexpr (std::is_void_v<Result>) return;
      else if constexpr (std::is_default_constructible_v<Result>) return Result{};
    }
  }
  return call();
}
"""


def mutable(text: str, names: Iterable[str]) -> tuple[str, set[str]]:
    """A source whose calls of these names, and of macros' parameters, can be left out; and the names that it calls."""
    called: set[str] = set()
    lines = re.split(r"(?m)((?:^[ \t]*#define\b(?:[^\n\\]|\\[^\n]|\\\n)*\n))", text)
    for index, part in enumerate(lines):
        macro = re.match(r"\s*#define\s+\w+\(([^)]*)\)", part)
        if macro:
            head, body = part[: macro.end()], part[macro.end() :]
            parameters = [word.strip() for word in macro[1].split(",") if word.strip() != "..."]
            body = _calls(body, parameters, lambda name: "#" + name, set())
            lines[index] = head + _calls(body, names, _quoted, called)
        elif not part.lstrip().startswith("#define"):
            lines[index] = _calls(part, names, _quoted, called)
    for name in names:  # as an argument of a macro, which calls it
        if re.search(rf"^[A-Z_]+\({name}\b", text, re.MULTILINE):
            called.add(name)
    return PROLOGUE + "".join(lines), called


def _quoted(name: str) -> str:
    return f'"{name}"'


def _calls(text: str, names: Iterable[str], spelled: object, called: set[str]) -> str:
    assert callable(spelled)
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not known:
        return text
    start = re.compile(rf"(?<![\w.:#])(?<!->)(?:AscendC::)?({known})(?=\s*[<(])")
    made, at = [], 0
    for match in start.finditer(text):
        if match.start() < at:
            continue  # within the arguments of a call
        opened = _arguments(text, match.end())
        if text[text.rfind("\n", 0, match.start()) + 1 :].startswith("constexpr"):
            continue  # for the compiler, outside of a function
        declared = re.search(r"\b(?:void|auto|bool|inline|template|[iu]\w*_t|T)\s+$", text[: match.start()])
        if opened is None or (declared and "return" not in declared[0]):
            continue
        end = _balanced(text, opened, "()")
        arguments = _calls(text[opened + 1 : end - 1], names, spelled, called)
        name = match[1]
        called.add(name)
        call = f"{text[match.start() : opened]}({arguments})"
        made += [text[at : match.start()], f"mtsim_call({spelled(name)}, [&]() -> decltype(auto) {{ return {call}; }})"]
        at = end
    return "".join([*made, text[at:]])


def _arguments(text: str, at: int) -> int | None:
    """Where the arguments of a call open, behind those of its template."""
    at += len(text[at:]) - len(text[at:].lstrip())
    if text[at] == "<":
        at = _balanced(text, at, "<>")
        at += len(text[at:]) - len(text[at:].lstrip())
    return at if at < len(text) and text[at] == "(" else None


def _balanced(text: str, at: int, pair: str) -> int:
    """The end of what opens here."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == pair[0]) - (text[index] == pair[1] and text[index - 1] != "-")
        if depth == 0:
            return index + 1
    return len(text)


class Mutants:
    """A copy of the tests, in a folder that is not there yet, whose kernels may be told to leave calls out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "tests", folder / "tests")
        shutil.copy(ROOT / "pyproject.toml", folder)
        names = [row.name for row in rows() if row.name not in CLASSES | NOTHING]
        self.calls: dict[str, set[str]] = {}
        for path in sorted((folder / KERNELS).glob("*.cpp")):
            if (folder / f"tests/sim/ascendc/test_{path.stem}.py").exists():
                text, self.calls[path.stem] = mutable(path.read_text(), names)
                path.write_text(text)

    def passes(self, source: str, mutant: str = "") -> bool:
        """Whether the tests of a source pass. Raises ``RuntimeError`` where they do not run."""
        ours: Mapping[str, str] = {
            "MINDTORCH_CACHE_DIR": str(self.folder / "cache"),
            "MTSIM_MUTANT": mutant,
            "PYTHONPATH": os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-k", "not unchecked"]
        done = subprocess.run(
            [*command, f"tests/sim/ascendc/test_{source}.py"],
            cwd=self.folder,
            env={**os.environ, **ours},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode not in (0, 1) or "BuildError" in done.stdout:
            if done.returncode < 0 and mutant:
                return False  # it ended the process
            raise RuntimeError(f"{source}: {done.stdout[-3000:]}{done.stderr[-1000:]}")
        return done.returncode == 0

    def noticed(self, name: str) -> str | None:
        """The source whose tests fail without a name, or None."""
        users = [source for source, called in self.calls.items() if name in called]
        return next((source for source in users if not self.passes(source, name)), None)


def main() -> None:
    """Every name, or those that are given."""
    with TemporaryDirectory() as folder:
        mutants = Mutants(Path(folder) / "copy")
        called = set().union(*mutants.calls.values())
        names = sys.argv[1:] or sorted(called)
        for source, theirs in [*mutants.calls.items()]:
            if theirs & set(names) and not mutants.passes(source):
                print(f"{source}.cpp is left out: its tests do not pass with its calls rewritten", flush=True)
                del mutants.calls[source]
        missed = []
        for name in names:
            source = mutants.noticed(name)
            print(f"{name}: {'no test fails' if source is None else f'noticed by test_{source}.py'}", flush=True)
            if source is None:
                missed.append(name)
        print(f"{len(names) - len(missed)} of {len(names)} are noticed; not: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()
