"""Every name ``torch._C._dispatch_*`` of PyTorch's is here or in the documentation's table of those that are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import mindtorch_v2
from tests.runtime.both import agree, fresh_namespace


def names(library: Any) -> set[str]:
    return {name for name in dir(library._C) if name.startswith("_dispatch_")}


def test_the_table_of_what_is_left_out_is_complete(repo_root: Path) -> None:
    rows = re.findall(r"^\| (`_dispatch_.*?) \|", (repo_root / "docs/new_device.md").read_text(), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(names(torch) - names(mindtorch_v2))
    assert names(mindtorch_v2) <= names(torch)


def seen_inside(transform: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def case(library: Any) -> Any:
        seen = []

        def look(x: Any) -> Any:
            seen.append(library._C._dispatch_isTensorSubclassLike(x))
            return x.sum()

        transform(library)(look)(library.ones(2, 3))
        return seen

    return case


def under_a_mode(library: Any) -> Any:
    if library is torch:
        from torch.utils._python_dispatch import TorchDispatchMode
    else:
        from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    x = library.ones(2)
    with Mode():
        inside = library._C._dispatch_isTensorSubclassLike(x)
    return inside, library._C._dispatch_isTensorSubclassLike(x)


def of_a_class(library: Any) -> Any:
    class Plain(library.Tensor):  # type: ignore[misc]
        pass

    class Dispatching(library.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    like = library._C._dispatch_isTensorSubclassLike
    return [like(library.ones(2).as_subclass(kind)) for kind in (library.Tensor, Plain, Dispatching)]


def computed_kernel(library: Any) -> Any:
    x = library.full((3,), 0.5)
    kernel = library._C._dispatch_get_computed_kernel_for_dispatch_key("aten::sin", "CPU")
    return kernel.call_boxed(library._C._dispatch_keys(x), x)


def computed_composite(library: Any) -> Any:
    lib = library.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    lib.impl("op", lambda x: x + 1, "CompositeExplicitAutograd")
    x = library.ones(2)
    kernel = library._C._dispatch_get_computed_kernel_for_dispatch_key(f"{lib.ns}::op", "CPU")
    result = kernel.call_boxed(library._C._dispatch_keys(x), x)
    lib._destroy()
    return result


CASES = (
    seen_inside(lambda library: lambda f: f),
    seen_inside(lambda library: library.func.vmap),
    seen_inside(lambda library: library.func.functionalize),
    under_a_mode,
    of_a_class,
    computed_kernel,
    computed_composite,
    lambda library: library._C._dispatch_autogradother_backends.has("CPU"),
    lambda library: library._C._dispatch_autogradother_backends.has("PrivateUse1"),
)


@pytest.mark.parametrize("case", CASES)
def test_as_in_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


@pytest.mark.parametrize(
    ("name", "key", "quoted"),
    [("aten::sinn", "CPU", "aten::sinn does not exist"), ("aten::sin", "nokey", "could not parse dispatch key")],
)
def test_a_kernel_that_there_is_not(name: str, key: str, quoted: str) -> None:
    agree(lambda library: library._C._dispatch_get_computed_kernel_for_dispatch_key(name, key), quoted)


def test_registrations_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    printed = []
    for library in (torch, mindtorch_v2):
        lib = library.library.Library(fresh_namespace(), "FRAGMENT")
        lib.define("op(Tensor x) -> Tensor")
        lib.impl("op", lambda x: x, "CUDA")
        library._C._dispatch_print_registrations_for_dispatch_key("CUDA")
        lines = capfd.readouterr().out.splitlines()
        printed.append(f"{lib.ns}::op" in lines)
        lib._destroy()
    assert printed == [True, True]
