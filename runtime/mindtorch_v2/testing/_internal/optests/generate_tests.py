"""`generate_opcheck_tests`: for each test of a class another that checks every operator the test calls.

Which operators are known to fail which tests stands in a file, the failures dict: a JSON object with, for an operator's
name, the tests with a status (``xfail``, ``skip``) and a comment. ``PYTORCH_OPCHECK_ACCEPT=1`` writes it.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import tempfile
import threading
import unittest
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...._core import OpOverload, OpOverloadPacket, Tensor
from ...._library.utils import lookup_op
from ....library import OpCheckError, Tag, opcheck
from ....overrides import TorchFunctionMode
from ....serialization import save
from ....utils._pytree import tree_leaves, tree_map
from ._checks import is_abstract

__all__ = [
    "DEFAULT_TEST_UTILS",
    "DEPRECATED_DEFAULT_TEST_UTILS",
    "FailuresDict",
    "OpCheckMode",
    "dontGenerateOpCheckTests",
    "generate_opcheck_tests",
    "generate_repro",
    "is_inside_opcheck_mode",
    "opcheck",
    "validate_failures_dict_structure",
]

DEFAULT_TEST_UTILS = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
DEPRECATED_DEFAULT_TEST_UTILS = [*DEFAULT_TEST_UTILS, "test_aot_dispatch_static"]
STATUSES = {"xfail", "skip"}  # a test that passes is not in the file
VERSION = 1
DESCRIPTION = (
    "What is known to fail of the tests that generate_opcheck_tests makes: a status for each test, by operator."
)

Check = Callable[[OpOverload, tuple[Any, ...], dict[str, Any]], Any]
_active = threading.local()


def dontGenerateOpCheckTests(reason: str) -> Callable[[Any], Any]:  # noqa: N802 - PyTorch's name
    """A decorator: no tests are made of this one."""

    def mark(function: Any) -> Any:
        function._torch_dont_generate_opcheck_tests = True
        return function

    return mark


def is_inside_opcheck_mode() -> bool:
    """Whether a test that was made is running in this thread."""
    return getattr(_active, "value", False)


class FailuresDict:
    """Which tests of which operators are known to fail, and the file that says so."""

    def __init__(self, path: str, data: dict[str, dict[str, dict[str, str]]]) -> None:
        self.path, self.data = path, data

    @staticmethod
    def load(path: str, *, create_file: bool = False) -> FailuresDict:
        """What the file says; without one, with ``create_file``, an empty one is made."""
        if create_file and not Path(path).exists():
            FailuresDict(path, {}).save()
        if not Path(path).exists():
            return FailuresDict(path, {})
        found = json.loads(Path(path).read_text())
        if found.get("_version") != VERSION:
            raise RuntimeError(
                f"{path}: a failures dict of version {found.get('_version')}; version {VERSION} is known"
            )
        return FailuresDict(path, found["data"])

    def save(self) -> None:
        """Writes the file."""
        document = {"_description": DESCRIPTION, "_version": VERSION, "data": self.data}
        Path(self.path).write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")

    def get_status(self, qualname: str, test_name: str) -> str:
        """``success`` unless the file says another."""
        return self.data.get(qualname, {}).get(test_name, {}).get("status", "success")

    def set_status(self, qualname: str, test_name: str, status: str, *, comment: str | None = None) -> None:
        """Says what is known of a test; ``success`` is what is not written down."""
        tests = self.data.setdefault(qualname, {})
        if status == "success":
            tests.pop(test_name, None)
        else:
            tests[test_name] = {"comment": comment or tests.get(test_name, {}).get("comment", ""), "status": status}


class OpCheckMode(TorchFunctionMode):
    """Inside, every call of an operator of the namespaces is checked first; leaving it tells what was found.

    Raises OpCheckError at the end for an operator that fails and is not known to, or that is and does not.
    """

    def __init__(
        self,
        namespaces: Sequence[str],
        test_util_name: str,
        test_util: Check,
        failures_dict: FailuresDict | None,
        test_name: str,
        failures_dict_path: str,
    ) -> None:
        super().__init__()
        self.namespaces, self.test_util_name, self.test_util = namespaces, test_util_name, test_util
        self.failures_dict, self.test_name, self.failures_dict_path = failures_dict, test_name, failures_dict_path
        self.seen: defaultdict[str, list[tuple[BaseException, OpOverload, Any, Any]]] = defaultdict(list)

    def __enter__(self) -> OpCheckMode:
        self._before, _active.value = is_inside_opcheck_mode(), True
        return super().__enter__()

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        _active.value = self._before
        super().__exit__(exc_type, exc_val, exc_tb)
        if exc_type is None:
            self._tell()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {} if kwargs is None else kwargs
        op = _only_overload(func)
        checked = op is not None and op.namespace in self.namespaces
        if op is None or not checked or any(map(_is_abstract, tree_leaves((args, kwargs)))):
            return func(*args, **kwargs)
        given, named = tree_map(_copied, (tuple(args), dict(kwargs)))  # as they are before the call
        result = func(*args, **kwargs)  # what it refuses is not checked
        self._check(op, given, named)
        return result

    def _check(self, op: OpOverload, args: Any, kwargs: Any) -> None:
        name = op.name()
        found = self.seen[name]
        if self._status(name) == "skip":
            return
        try:
            self.test_util(op, args, kwargs)
        except OpCheckError as error:
            found.append((error.__cause__ or error, op, args, kwargs))

    def _status(self, name: str) -> str:
        return "success" if self.failures_dict is None else self.failures_dict.get_status(name, self.test_name)

    def _tell(self) -> None:
        for name, found in self.seen.items():
            status = self._status(name)
            if _accepts() and self.failures_dict is not None and status != "skip":
                self.failures_dict.set_status(name, self.test_name, "xfail" if found else "success")
                self.failures_dict.save()
            elif status == "xfail" and not found:
                raise OpCheckError(
                    f"generate_opcheck_tests: Unexpected success for operator {name} on test {self.test_name}: take it "
                    f"out of {self.failures_dict_path}, or run the test with PYTORCH_OPCHECK_ACCEPT=1"
                )
            elif status == "success" and found:
                error, op, args, kwargs = found[0]
                better = os.environ.get("PYTORCH_OPCHECK_PRINT_BETTER_REPRO") == "1"
                repro = generate_repro(self.test_util_name, op, args, kwargs, save_data=better)
                raise OpCheckError(
                    f"Test generated by `generate_opcheck_tests`, {self.test_name}, failed on operator {name}: "
                    f"{error}\nThe test alone is:\n{repro}"
                ) from error


def _is_abstract(value: Any) -> bool:
    return isinstance(value, Tensor) and is_abstract(value)


def _copied(value: Any) -> Any:
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


def _only_overload(func: Any) -> OpOverload | None:
    """The operator that a call is of, if there is no doubt which: of a packet the one that writes to nothing given."""
    if isinstance(func, OpOverload):
        return func
    if not isinstance(func, OpOverloadPacket):
        return None
    found = [getattr(func, name) for name in func.overloads()]
    plain = [op for op in found if not op._schema.out_arguments]
    return plain[0] if len(plain) == 1 else None


def _accepts() -> bool:
    return os.environ.get("PYTORCH_OPCHECK_ACCEPT") == "1"


def _checked_by(name: str) -> Check:
    def check(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name != "test_aot_dispatch_static":
            return opcheck(op, args, kwargs, test_utils=name)
        if Tag.dynamic_output_shape in op.tags:
            raise OpCheckError(f"{name}: the shape of what {op.name()} returns depends on values: it is dynamic")
        return opcheck(op, args, kwargs, test_utils="test_aot_dispatch_dynamic")

    return check


ALL_TEST_UTILS = {name: _checked_by(name) for name in DEPRECATED_DEFAULT_TEST_UTILS}


def generate_opcheck_tests(
    testcase: Any,
    namespaces: list[str],
    failures_dict_path: str | None = None,
    additional_decorators: dict[str, Any] | None = None,
    test_utils: list[str] = DEFAULT_TEST_UTILS,
) -> None:
    """Adds to a class, for each of its tests and each of ``test_utils``, the test ``{test_util}__{test}``.

    It runs the test, and every operator of the namespaces that it calls by `opcheck`'s test. The file of known failures
    is ``failures_dict.json`` beside the caller unless another is given. Raises RuntimeError for a file that does not
    fit the class, and where a test has that name already.
    """
    decorators = additional_decorators or {}
    if failures_dict_path is None:
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        failures_dict_path = str(Path(inspect.getfile(caller or testcase)).with_name("failures_dict.json"))
    failures = FailuresDict.load(failures_dict_path, create_file=_accepts())
    validate_failures_dict_structure(failures, test_utils, testcase)
    names = [name for name in dir(testcase) if name.startswith("test_") and callable(getattr(testcase, name))]
    for name in names:
        for prefix in test_utils:
            method = getattr(testcase, name)
            if not getattr(method, "_torch_dont_generate_opcheck_tests", False):
                made = _made(testcase, method, f"{prefix}__{name}", prefix, namespaces, failures)
                _add(testcase, f"{prefix}__{name}", made, decorators)
    for qualname, tests in failures.data.items():
        failing = [
            test
            for test, known in tests.items()
            if known.get("status") == "xfail" and "test_aot_dispatch_static" not in test  # which nobody need pass
        ]
        name = "test_pt2_compliant_tag_" + qualname.replace("::", "_").replace(".", "_")
        _add(testcase, name, _tag_test(qualname, failing), decorators)


def _made(
    testcase: Any, method: Any, name: str, prefix: str, namespaces: list[str], failures: FailuresDict
) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        test_name = f"{testcase.__name__}.{name}"
        with OpCheckMode(namespaces, prefix, ALL_TEST_UTILS[prefix], failures, test_name, failures.path):
            return method(*args, **kwargs)

    return checked


def _tag_test(qualname: str, failing: list[str]) -> Callable[..., Any]:
    def tagged_as_it_is(self: Any) -> None:
        try:
            op = lookup_op(qualname)
        except AttributeError:
            raise unittest.SkipTest(f"Can't import operator {qualname}") from None
        if failing and Tag.pt2_compliant_tag in op.tags:
            raise AssertionError(f"{qualname} has the tag pt2_compliant_tag, and fails {', '.join(failing)}")

    return tagged_as_it_is


def _add(testcase: Any, name: str, test: Any, decorators: dict[str, Any]) -> None:
    if hasattr(testcase, name):
        raise RuntimeError(f"{testcase} has a method {name} already, which a test to be made would replace: rename it")
    for decorate in decorators.get(name, ()):
        test = decorate(test)
    setattr(testcase, name, test)


def validate_failures_dict_structure(failure_dict: FailuresDict, test_utils: Sequence[str], testcase: Any) -> None:
    """Raises RuntimeError where the file names an unknown status, or a test that the class would not have."""
    for qualname, tests in failure_dict.data.items():
        for test, known in tests.items():
            where = f"In failures dict {failure_dict.path}: {qualname}: {test}:"
            if known.get("status") not in STATUSES:
                raise RuntimeError(f"{where} got status={known.get('status')}, expected one of {sorted(STATUSES)}")
            case, _, name = test.partition(".")
            if case != testcase.__name__:
                continue
            prefix, found, base = name.partition("__")
            if not found or prefix not in (*test_utils, *DEPRECATED_DEFAULT_TEST_UTILS):
                raise RuntimeError(f"{where} the test's name should begin with one of {list(test_utils)} and '__'")
            if not hasattr(testcase, re.sub(r"\[.*", "", base)):
                raise RuntimeError(f"{where} {base} does not exist on the TestCase {case}")


_REPRO = """\
# =========================================================
# BEGIN REPRO SCRIPT
# =========================================================
import torch
from torch.testing._internal.optests import opcheck

# Make sure you have loaded the library that contains the op
# via an import or torch.ops.load_library(...)
op = torch.ops.{op}

{data}
opcheck(op, args, kwargs, test_utils="{test}")
# =========================================================
# END REPRO SCRIPT
# =========================================================
"""
_NO_DATA = """\
# If you rerun your test with PYTORCH_OPCHECK_PRINT_BETTER_REPRO=1
# we will fill them in same (args, kwargs) as in your test
args = ()  # args to the operator
kwargs = {}  # kwargs to the operator"""


def generate_repro(
    test: str,
    op: OpOverload,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    save_data: bool,
    dry_run: bool = False,
) -> str:
    """A script that runs one test alone; with ``save_data`` on the arguments, which a file keeps (not in a dry run)."""
    data = _NO_DATA
    if save_data:
        with tempfile.NamedTemporaryFile(suffix=".pt", prefix="pytorch_opcheck_", delete=False) as file:
            path = file.name
        if dry_run:
            with suppress(FileNotFoundError):
                Path(path).unlink()
        else:
            save((args, kwargs), path)
        data = f'args, kwargs = torch.load("{path}")'
    return _REPRO.format(op=op, data=data, test=test)
