"""PyTorch's API on operators that mtcodegen generates: ``import mindtorch_v2 as torch``."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

from . import backends as backends  # isort: skip  (before all that names a device)
from . import (  # noqa: F401  (these fill the hooks of the core)
    _C,
    _core,
    _indexing,
    _lazy_values,
    _narrow_dtypes,
    _printing,
    _tensor_compat,
    _tensor_methods,
    _tensor_protocols,
    _wrapper_geometry,
    autograd,
    library,
    overrides,
    random,
    storage,
    version,
)
from ._core import (
    OutOfMemoryError,
    Size,
    Tensor,
    UntypedStorage,
    broadcast_shapes,
    device,
    dtype,
    dtypes,
    get_default_device,
    get_default_dtype,
    promote_types,
    quantized_dtypes,
    result_type,
    set_default_device,
    set_default_dtype,
)
from ._creation import *  # noqa: F403  (the functions that make tensors, listed in its __all__)
from ._dispatch_keys import DispatchKey as DispatchKey
from ._functional import *  # noqa: F403  (functions composed of operators, listed in its __all__)
from ._generators import Generator, default_generator
from ._legacy_types import *  # noqa: F403  (FloatTensor, LongTensor, ...)
from ._ops import ops
from ._pending import load as _load
from ._pending import pending_functions as _pending_functions
from ._storage_contents import dtype_names as _storage_names  # noqa: F401  (gives storages their methods)
from ._storages import QUANTIZED, TYPED, TypedStorage
from ._storages import storage_classes as _all_storage_classes
from ._tensor_questions import *  # noqa: F403  (functions that a tensor answers of itself)
from ._type_info import *  # noqa: F403  (finfo, iinfo, and the names of layouts and memory formats)
from ._variadic import *  # noqa: F403  (functions of any number of tensors)
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .backends._streams import Event, Stream
from .backends._threads import get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads
from .library import Tag
from .random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .version import __version__ as __version__

__all__ = [
    "Event",
    "Generator",
    "OutOfMemoryError",
    "Size",
    "Stream",
    "Tag",
    "Tensor",
    "TypedStorage",
    "UntypedStorage",
    "autograd",
    "broadcast_shapes",
    "default_generator",
    "device",
    "dtype",
    "enable_grad",
    "get_default_device",
    "get_default_dtype",
    "get_device_module",
    "get_num_interop_threads",
    "get_num_threads",
    "get_rng_state",
    "inference_mode",
    "initial_seed",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_tensor",
    "library",
    "manual_seed",
    "no_grad",
    "ops",
    "overrides",
    "promote_types",
    "random",
    "result_type",
    "seed",
    "set_default_device",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_interop_threads",
    "set_num_threads",
    "set_rng_state",
]

uint8, int8, int16, int32, int64 = (dtypes[n] for n in ("uint8", "int8", "int16", "int32", "int64"))
uint16, uint32, uint64 = (dtypes[n] for n in ("uint16", "uint32", "uint64"))
float16, bfloat16, float32, float64 = (dtypes[n] for n in ("float16", "bfloat16", "float32", "float64"))
float8_e4m3fn, float8_e5m2 = dtypes["float8_e4m3fn"], dtypes["float8_e5m2"]
float8_e4m3fnuz, float8_e5m2fnuz = dtypes["float8_e4m3fnuz"], dtypes["float8_e5m2fnuz"]
complex32, complex64, complex128 = (dtypes[n] for n in ("complex32", "complex64", "complex128"))
qint8, quint8, qint32, quint4x2, quint2x4 = quantized_dtypes.values()
half, float, double, short, int, long = float16, float32, float64, int16, int32, int64
chalf, cfloat, cdouble = complex32, complex64, complex128
bool = dtypes["bool"]
for _name, _quick in {"tensor": "values", "as_tensor": "itself", "asarray": ""}.items():
    globals()[_name] = overrides.seen_by_modes(globals()[_name], _quick)
inf, nan, pi, e, newaxis = math.inf, math.nan, math.pi, math.e, None

# Imported when first used: a script that needs none of them starts without them.
_LAZY = frozenset(
    [
        "_VF",
        "__config__",
        "__future__",
        "_custom_op",
        "_custom_ops",
        "_dispatch",
        "_dynamo",
        "_library",
        "_subclasses",
        "_utils",
        "_vmap_internals",
        "accelerator",
        "amp",
        "compiler",
        "cpu",
        "cuda",
        "distributed",
        "distributions",
        "drop_in",
        "fft",
        "func",
        "functional",
        "futures",
        "fx",
        "jit",
        "linalg",
        "masked",
        "mps",
        "multiprocessing",
        "nn",
        "npu",
        "optim",
        "profiler",
        "quasirandom",
        "serialization",
        "signal",
        "sparse",
        "special",
        "testing",
        "torch_version",
        "types",
        "utils",
        "xpu",
    ]
)
_LAZY_NAMES = {
    "GradScaler": "amp",
    "_segment_reduce": "_composed",
    "_tensor_classes": "_legacy_types",
    "autocast": "amp",
    "autocast_decrement_nesting": "amp",
    "autocast_increment_nesting": "amp",
    "clear_autocast_cache": "amp",
    "get_autocast_dtype": "amp",
    "install_as_torch": "drop_in",
    "is_autocast_cache_enabled": "amp",
    "is_autocast_enabled": "amp",
    "load": "serialization",
    "lu": "_composed",
    "pca_lowrank": "_composed",
    "save": "serialization",
    "set_autocast_cache_enabled": "amp",
    "set_autocast_dtype": "amp",
    "svd_lowrank": "_composed",
    "set_autocast_enabled": "amp",
    "vmap": "func",
    "compile": "_dynamo",
    "_disable_dynamo": "_dynamo",
    **dict.fromkeys(("from_dlpack", "to_dlpack"), "_dlpack"),
    **dict.fromkeys(("eig", "lstsq", "matrix_rank", "solve", "symeig"), "_linalg_utils"),
    **dict.fromkeys(
        ("cond", "frobenius_norm", "from_file", "norm_except_dim", "resize_as_", "while_loop"), "_composed"
    ),
    **dict.fromkeys(
        (
            "get_autocast_cpu_dtype",
            "get_autocast_gpu_dtype",
            "is_autocast_cpu_enabled",
            "set_autocast_cpu_dtype",
            "set_autocast_cpu_enabled",
            "set_autocast_gpu_dtype",
        ),
        "amp._older_names",
    ),
    **dict.fromkeys(
        (
            "are_deterministic_algorithms_enabled",
            "compiled_with_cxx11_abi",
            "has_lapack",
            "has_mkl",
            "has_openmp",
            "has_spectral",
            "is_vulkan_available",
            "get_deterministic_debug_mode",
            "get_float32_matmul_precision",
            "is_deterministic_algorithms_warn_only_enabled",
            "is_warn_always_enabled",
            "set_deterministic_debug_mode",
            "set_float32_matmul_precision",
            "set_flush_denormal",
            "set_warn_always",
            "use_deterministic_algorithms",
        ),
        "_settings",
    ),
    **dict.fromkeys(
        (
            "_assert",
            "_check",
            "_check_index",
            "_check_is_size",
            "_check_not_implemented",
            "_check_tensor_all",
            "_check_tensor_all_with",
            "_check_type",
            "_check_value",
            "_check_with",
        ),
        "_checks",
    ),
    **dict.fromkeys(
        (
            "SymBool",
            "SymFloat",
            "SymInt",
            "sym_float",
            "sym_int",
            "sym_ite",
            "sym_max",
            "sym_min",
            "sym_not",
            "sym_sqrt",
            "sym_sum",
            *(f"_sym_{name}" for name in ("acos", "asin", "atan", "cos", "cosh", "log2")),
            *(f"_sym_{name}" for name in ("sin", "sinh", "sqrt", "tan", "tanh")),
        ),
        "_symbolic",
    ),
    **dict.fromkeys(
        (
            "_disable_functionalization",
            "_enable_functionalization",
            "_freeze_functional_tensor",
            "_from_functional_tensor",
            "_is_functional_tensor",
            "_sync",
            "_to_functional_tensor",
        ),
        "func._functional_names",
    ),
    "set_printoptions": "_printing",
    "is_anomaly_check_nan_enabled": "autograd",
    "is_anomaly_enabled": "autograd",
    "DisableTorchFunction": "_C",
    "DisableTorchFunctionSubclass": "_C",
}


def _register_device_module(device_type: str, module: Any) -> None:
    """Makes a module what ``torch.<device_type>`` is; what it defines is what is known of the device."""
    backends._registration.register_module(device_type, module)


def get_device_module(device: Any = None) -> Any:
    """The module of a device type, ``torch.npu`` of an NPU; of the accelerator unless one is given."""
    if not (device is None or isinstance(device, (str, _core.device))):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    name = backends._registration.private_use1_name() if device is None else backends.backend_of(device).name
    try:
        return getattr(sys.modules[__name__], name)
    except AttributeError:
        raise RuntimeError(
            f"Invalid device_type of '{name}' for get_device_module: it has no module; add one with "
            "torch._register_device_module"
        ) from None


def is_tensor(obj: Any, /) -> Any:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    if name in TYPED or name in QUANTIZED:
        return TYPED[name] if name in TYPED else QUANTIZED[name]
    if name == "_storage_classes":
        return _all_storage_classes()
    operator = _pending_functions().get(name)
    if operator is not None:
        _load(operator)
    if name in globals():  # of that module, or of one that another thread has imported since it was not here
        return globals()[name]
    raise AttributeError(
        f"module 'mindtorch_v2' (PyTorch's API) has no attribute '{name}': docs/coverage.md lists the names there are"
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES, *_pending_functions()})


def _load_operators() -> None:
    try:
        importlib.import_module("mindtorch_ops")
    except ModuleNotFoundError as error:
        if error.name != "mindtorch_ops":
            raise
        raise ImportError(
            "mindtorch_v2 has no operators: the package mindtorch_ops is not installed beside it. It is generated from "
            "ops_yaml/ (`mtcodegen ops_yaml`)."
        ) from error


_load_operators()

Storage = TYPED["FloatStorage"]  # as PyTorch calls it

from .autograd import _detach  # noqa: E402, F401  (kernels by hand, of operators that are loaded by now)
