"""What ``__torch_function__`` can override, as ``torch.overrides`` tells it: PyTorch's functions and methods, by name.

What a function takes comes from its schema or its signature, so that nothing is listed here but PyTorch's modules, and
the names in them that no call of a tensor reaches.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import operator
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import _core, fft, functional, linalg, special
from ._core import OpOverloadPacket, QuickFunction, Tensor, TupleForm
from .nn import functional as nn_functional
from .nn import init
from .overrides import overridable_functions

__all__ = ["get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "resolve_name"]

_BINARY = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
_REFLECTED = {f"__r{name}__" for name in _BINARY}
_PACKAGE = __name__.rpartition(".")[0]
# PyTorch's modules of functions, in the order in which a function that is in several is looked for.
_MODULES = {
    "torch.functional": functional,
    "torch.nn.functional": nn_functional,
    "torch.nn.init": init,
    "torch.linalg": linalg,
    "torch.fft": fft,
    "torch.special": special,
    "torch": sys.modules[_PACKAGE],
}
# Functions of the top level that take no tensor, make one of other things, or ask about types and settings.
_IGNORED = """
    abs_ adaptive_max_pool1d_with_indices arange as_strided_ as_tensor asarray autocast_decrement_nesting
    autocast_increment_nesting baddbmm_ bartlett_window blackman_window can_cast cat_ clear_autocast_cache compile cond
    compiled_with_cxx11_abi cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_relu
    cudnn_grid_sampler cudnn_is_acceptable default_generator empty empty_permuted empty_quantized empty_strided eye
    fork frombuffer from_dlpack from_file from_numpy full hamming_window hann_window import_ir_module initial_seed
    is_autocast_available is_autocast_enabled is_deterministic_algorithms_warn_only_enabled is_grad_enabled
    is_inference_mode_enabled is_storage is_tensor is_warn_always_enabled kaiser_window layout linspace load logspace
    manual_seed merge_type_from_type_comment normal ones parse_ir parse_schema promote_types rand randint randn randperm
    range result_type save scalar_tensor seed set_autocast_enabled set_default_device set_default_dtype
    set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
    set_grad_enabled set_num_interop_threads set_num_threads set_printoptions set_rng_state set_vital set_warn_always
    sparse_coo_tensor sparse_csr_tensor sparse_compressed_tensor tensor tril_indices triu_indices typename vander_
    use_deterministic_algorithms vmap wait zeros get_default_device get_default_dtype get_num_interop_threads
    get_num_threads get_rng_state handle_torch_function has_torch_function has_torch_function_unary
    has_torch_function_variadic interleave
""".split()  # noqa: SIM905 - as a table, one name after the other
# Names that look like inner ones, and are listed all the same, where there are such functions.
_INNER = frozenset(
    """
    _assert_async _conj_copy _functional_assert_async _fused_rms_norm _fw_primal_copy _make_dual_copy
    _native_batch_norm_legit _neg_view_copy _reshape_alias_copy
    """.split()  # noqa: SIM905
)
_METHODS_IGNORED = """
    __class__ __delattr__ __dir__ __doc__ __getattribute__ __init__ __init_subclass__ __new__ __setattr__ __str__
    __sizeof__ __subclasshook__ __torch_dispatch__ __torch_function__ __dict__ __weakref__ __slots__ __module__
    __getstate__ __hash__ _make_subclass _make_wrapper_subclass as_subclass __reduce__ __array_priority__
    new_tensor
""".split()  # noqa: SIM905


@functools.cache
def _named() -> dict[Any, str]:
    """The functions and methods that can be overridden, each with its name: ``torch.nn.functional.linear``."""
    found: dict[Any, str] = {}
    for name, module in _MODULES.items():
        for attribute in dir(module):
            function = getattr(module, attribute, None)
            ignored = name == "torch" and attribute in _IGNORED
            if _is_public(attribute) and _is_overridable(function) and not ignored:
                found.setdefault(function, f"{name}.{attribute}")
    for attribute in dir(Tensor):
        if attribute not in _METHODS_IGNORED:
            _note_member(found, attribute, inspect.getattr_static(Tensor, attribute), getattr(Tensor, attribute))
    return found


def _is_public(name: str) -> bool:
    """Whether a function of PyTorch's is for its users; those of sizes that are not known yet have inner names."""
    return not name.startswith("_") or name.startswith("_sym_") or name in _INNER


def _note_member(found: dict[Any, str], attribute: str, static: Any, member: Any) -> None:
    """Adds a method, or what reads a property."""
    name = f"torch.Tensor.{attribute}"
    if callable(member) and not isinstance(member, (type, property)):
        if not isinstance(static, (staticmethod, classmethod)):
            found.setdefault(member, name)
    elif hasattr(member, "__get__") and not isinstance(member, (str, bool, int)):
        found.setdefault(member.__get__, f"{name}.__get__")


def _is_overridable(function: Any) -> bool:
    if isinstance(function, (OpOverloadPacket, TupleForm)):
        return any("Tensor" in str(argument.type) for schema in _schemas(function) for argument in schema.arguments)
    return isinstance(function, (types.FunctionType, QuickFunction)) and function in overridable_functions


def _schemas(function: Any) -> list[Any]:
    packet = function if isinstance(function, OpOverloadPacket) else function.packet
    return [getattr(packet, name)._schema for name in packet.overloads()]


@functools.cache
def _parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    """What a function takes, as parameters that can be given by position."""
    if isinstance(function, (OpOverloadPacket, TupleForm)):
        plain = [schema for schema in _schemas(function) if not schema.out_arguments] or _schemas(function)
        fewest = min(plain, key=lambda schema: sum(not a.has_default for a in schema.arguments))
        return tuple(_parameter(a.name, a.has_default) for a in fewest.positional)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return (_parameter("self", False), *_given_to(function))
    return tuple(signature.parameters.values())


def _parameter(name: str, has_default: bool) -> inspect.Parameter:
    default = None if has_default else inspect.Parameter.empty
    name = f"{name}_" if keyword.iskeyword(name) else name
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _given_to(method: Any) -> Iterator[inspect.Parameter]:
    """What an operator of the language takes besides its tensor, which its wrapper does not tell."""
    name = re.sub(r"^__r(?=\w)", "__", method.__name__) if method.__name__ in _REFLECTED else method.__name__
    known = getattr(operator, name, None)
    for at in range(len(inspect.signature(known).parameters) - 1 if known is not None else 0):
        yield _parameter(f"value{at}", False)


def _override(function: Any) -> Callable[..., int]:
    """What takes what a function does, and returns -1."""

    def override(*args: Any, **kwargs: Any) -> int:
        return -1

    override.__signature__ = inspect.Signature(_parameters(function))  # type: ignore[attr-defined]
    return override


@functools.cache
def _testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    return {function: _override(function) for function in _named()}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    """For each function that can be overridden one that takes the same arguments, and returns -1."""
    return _testing_overrides().copy()


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that ``__torch_function__`` can override, by the module, or the class, that they are in."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    for function, name in _named().items():
        within, _, _ = name.removesuffix(".__get__").rpartition(".")
        owner = Tensor if within == "torch.Tensor" else _MODULES[within]
        found.setdefault(owner, []).append(function)
    return found


@functools.cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """The functions that a tensor-like argument does not override: they take none, or answer for themselves."""
    top = _MODULES["torch"]
    names = [name for name in _IGNORED if callable(getattr(top, name, None))]
    methods = [name for name in _METHODS_IGNORED if callable(getattr(Tensor, name, None))]
    return {getattr(top, name) for name in names} | {getattr(Tensor, name) for name in methods}


def resolve_name(f: Any) -> str | None:
    """The name of a function that can be overridden, or of an operator; None where it is neither."""
    if isinstance(f, (_core.OpOverload, OpOverloadPacket)) and f not in _named():
        return str(f)
    return _named().get(f)
