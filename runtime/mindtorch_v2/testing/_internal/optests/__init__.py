"""Checks of operators for their authors' tests: `opcheck`, and tests that are made of the tests there are."""

from ._checks import (
    OpCheckError,
    aot_autograd_check,
    autograd_registration_check,
    fake_check,
    make_fx_check,
    opcheck,
)
from .generate_tests import dontGenerateOpCheckTests, generate_opcheck_tests, is_inside_opcheck_mode

__all__ = [
    "OpCheckError",
    "aot_autograd_check",
    "autograd_registration_check",
    "dontGenerateOpCheckTests",
    "fake_check",
    "generate_opcheck_tests",
    "is_inside_opcheck_mode",
    "make_fx_check",
    "opcheck",
]
