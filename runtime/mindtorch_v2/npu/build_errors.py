"""The error of a kernel library that could not be built, and what a compiler's message means for an AscendC kernel."""

from __future__ import annotations

import re

_LIST = "docs/ascendc.md lists what the simulated NPU has"
# What the compiler says, and what to do about it; the first that fits is told. "{0}" is the name in the message.
_HINTS = (
    (
        r"reference to '(\w+)' is ambiguous[\s\S]{0,2000}/ascendc/",
        "help: {0} is one of AscendC's names, too: give yours another, or do without `using namespace AscendC`",
    ),
    (
        r"'MtsimDefaultTilingOfSeveral' (?:was not declared|does not name)",
        "help: the host's files register several tiling structs: say which by GET_TILING_DATA_WITH_STRUCT or "
        "REGISTER_TILING_DEFAULT in the kernel, or register one as REGISTER_TILING_DATA_CLASS(<operator>_<key>, ...) "
        "and build with that TILING_KEY_VAR",
    ),
    (
        r"'MtsimDefaultTilingOfNone' (?:was not declared|does not name)",
        "help: the host's files register no tiling struct: REGISTER_TILING_DATA_CLASS says which one GET_TILING_DATA "
        "reads, GET_TILING_DATA_WITH_STRUCT names it in the kernel",
    ),
    (
        r"'MtsimDefaultTiling' (?:was not declared|does not name)",
        "help: GET_TILING_DATA reads the struct that the operator's host side registers: give the file with its "
        "REGISTER_TILING_DATA_CLASS as a source beside the kernel, or REGISTER_TILING_DEFAULT the struct in the kernel",
    ),
    (
        r"'(DTYPE_\w+|ORIG_DTYPE_\w+)' (?:was not declared|does not name)",
        "help: {0} is a definition that an operator project's build gives: defines: {{{0}: half}}",
    ),
    (
        r"fatal error: ([\w./-]+): No such file or directory",
        "help: if {0} is one of CANN's headers, the simulated NPU has none of that name: kernel_operator.h has all "
        f"there is, and {_LIST}; if it is your own, give its folder: include: [folder]",
    ),
    (
        r"call to non-'constexpr' function 'mtsim::CoreType::operator|"
        r"specialization in non-namespace scope[\s\S]*<AscendC::AI[CV]>",
        "help: the kind of core is known when the kernel runs; g_coreType cannot be a template's argument: choose by "
        "an `if (g_coreType == AscendC::AIC)`; docs/ascendc.md says what is not simulated",
    ),
    (
        r"explicit specialization in non-namespace scope",
        "help: g++ knows members that are specialised in their class from version 14 on: specialise them behind it, or "
        "set CXX; docs/ascendc.md says what is not simulated",
    ),
    (
        r"'(\w+)' is not a member of '(?:AscendC|matmul)",
        f"help: the simulated NPU's headers have no AscendC::{{0}}; {_LIST}",
    ),
    (
        r"expected primary-expression before '[<>]'",
        "help: a function template is not known there: include the header that declares it before its use, or name its "
        f"namespace (AscendC::...); {_LIST}",
    ),
    (
        r"'([A-Z]\w+)' (?:was not declared in this scope|has not been declared)(?!; did you mean)",
        f"help: if {{0}} is one of AscendC's names, the simulated NPU's headers have none of that name; {_LIST}",
    ),
)


class BuildError(RuntimeError):
    """A kernel library could not be built; the message holds the compiler's output at the source's lines."""


def hint(output: str) -> str:
    """Advice on what a compiler said, or nothing."""
    for pattern, advice in _HINTS:
        if match := re.search(pattern, output):
            return advice.format(*match.groups())
    return ""
