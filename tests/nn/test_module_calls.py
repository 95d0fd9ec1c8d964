"""Calls of modules beside PyTorch: what a class, a patch or a hook changes of them, and what is shown of them."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from tests.runtime.both import agree_or_raise


def _scale(t: Any, **members: Any) -> Any:
    """A module that multiplies, with more members."""

    def forward(self: Any, x: Any, *rest: Any, by: Any = 2) -> Any:
        return (x * by, *rest) if rest else x * by

    return type("Scale", (t.nn.Module,), {"forward": forward, **members})()


def _patched(t: Any) -> Any:
    """What a patch of the base class makes of a module that is there, and what is left of it afterwards."""
    module = _scale(t)
    with mock.patch.object(t.nn.Module, "__call__", lambda self, x: ["patched", x]):
        during = module(1)
    return during, module(1)


def _hooked_everywhere(t: Any) -> Any:
    module, seen = _scale(t), []
    handle = t.nn.modules.module.register_module_forward_hook(lambda m, args, out: seen.append(out))
    module(1)
    handle.remove()
    module(2)
    return seen


def _by_attribute(t: Any) -> Any:
    """A forward that an object has, not its class."""
    module = _scale(t)
    module.forward = lambda x: x + 100
    return module(1)


def _called_by_super(t: Any) -> Any:
    module = _scale(t)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return super(own, self).__call__(*args, **kwargs) + 1

    own = type("Own", (type(module),), {"__call__": call})
    return own()(3), own()(3, by=5)


def _mixed(t: Any) -> Any:
    """Modules that are something else of C's as well."""
    made = type("Table", (t.nn.Module, dict), {"forward": lambda self, key: self.get(key)})()
    made.update(a=1)
    return made("a"), made("b")


def _asked(t: Any) -> Any:
    """A class that answers for every attribute itself."""
    names = []

    def ask(self: Any, name: str) -> Any:
        names.append(name)
        return object.__getattribute__(self, name)

    module = _scale(t, __getattribute__=ask)
    names.clear()
    return module(2), "forward" in names


CALLS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda t: _scale(t)(3),
    "by keyword": lambda t: _scale(t)(3, by=4),
    "all by keyword": lambda t: _scale(t)(x=3, by=4),
    "many": lambda t: _scale(t)(3, 4, 5, by=6),
    "through a dict": lambda t: _scale(t)(*(3, 4), by=5),
    "patched": _patched,
    "hooked everywhere": _hooked_everywhere,
    "a forward of the object": _by_attribute,
    "a call of its own": _called_by_super,
    "with another class": _mixed,
    "with __getattribute__": _asked,
    "no forward": lambda t: t.nn.Module()(1),
    "an argument too many": lambda t: t.nn.Identity()(1, 2),
    "an unknown keyword": lambda t: t.nn.Identity()(1, wrong=2),
    "raising": lambda t: _scale(t)("a", by="b"),
    "pickled": lambda t: pickle.loads(pickle.dumps(t.nn.Identity()))(4),
    "pickled by an old protocol": lambda t: pickle.loads(pickle.dumps(t.nn.Identity(), 0))(4),
    "copied": lambda t: copy.deepcopy(_scale(t))(4),
    "callable": lambda t: callable(_scale(t)),
    "its parameters": lambda t: [(p.name, p.kind) for p in inspect.signature(_scale(t)).parameters.values()],
    "its class's parameters": lambda t: list(inspect.signature(t.nn.Identity).parameters),
    "the method": lambda t: _scale(t).__call__(5),
    "the function": lambda t: t.nn.Module.__call__(_scale(t), 5),
    "with a default of mock": lambda t: mock.create_autospec(t.nn.Identity())(3) is not None,
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_modules(name: str) -> None:
    agree_or_raise(CALLS[name])


def test_a_hook_is_called_with_an_empty_dict_of_keywords() -> None:
    def case(t: Any) -> Any:
        module, seen = _scale(t), []
        module.register_forward_pre_hook(lambda m, args, kwargs: seen.append((args, kwargs)), with_kwargs=True)
        module(1)
        module(1, by=3)
        return seen

    agree_or_raise(case)


def test_a_class_of_the_core_may_be_called_before_there_are_modules() -> None:
    code = (
        "from mindtorch_v2._core import CallsForward\n"
        "class Own(CallsForward):\n"
        "    _hooks = None\n"
        "    def forward(self, x): return x + 1\n"
        "assert Own()(1) == 2\n"
        "try: CallsForward()(1)\n"
        "except AttributeError as error: print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'_hooks'" in result.stdout
