"""Where ours and PyTorch differ and no finding is meant: each case with its reason.

Here are those that any call may have; those of single functions are in `reasons_of_functions`, those of
objects in `reasons_of_objects`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from benchmarks.fuzz.outcome import Outcome, Raised, Returned
from benchmarks.fuzz.reason import Reason, kinds, message, raises
from benchmarks.fuzz.reasons_of_functions import OF_SINGLE_FUNCTIONS
from benchmarks.fuzz.reasons_of_objects import OF_OBJECTS

if TYPE_CHECKING:
    from benchmarks.fuzz.program import Call

__all__ = ["LEFT_OUT", "REASONS", "reason"]

# Not called: what takes an address or a function that the core trusts, and what ends or waits for the process.
LEFT_OUT = {
    "torch._core.from_buffer": "takes an address",
    "torch._core.Kernel": "takes an address",
    "torch._core.DevicePointer": "is an address",
    "torch._core.npu_bind": "takes the addresses of a library's functions",
    "torch._core.npu_swap_stream": "takes a stream's address",
    "torch._core.npu_record_stream": "takes a stream's address",
    "torch._core.npu_play_tape": "takes addresses that a recording gave",
    "torch._core.npu_note": "takes a stream's address",
    "torch._core.npu_replay": "takes a graph's address",
    "torch._core.npu_copy_within": "copies so many bytes of memory: `copy_`, which counts them, is called",
    "torch._core.bind_waiting": "takes a function that the core trusts",
    "torch._core.npu_recent_launches": "takes a stream's address",
    "torch._core.npu_tape_allocations": "takes a stream's address",
    "torch._core.profiler_begin": "records until it is ended: `torch.profiler.profile` is called",
    "torch.autograd.profiler_util.DeviceType": "an enumeration",
    "torch.profiler.DeviceType": "an enumeration",
    "torch.profiler.ProfilerAction": "an enumeration",
    "torch.profiler.ProfilerActivity": "an enumeration",
    "torch.profiler.kineto_available": "PyTorch's library for traces is not ours",
    "torch._core.npu_begin_recording": "takes a model's address",
    "torch._core.npu_end_recording": "takes a model's address",
    "torch.npu.ExternalStream": "takes a stream's address",
    "torch.library.definitions.Definition": "made where an operator is defined, by `Library.operator`",
    "torch.library.definitions.OperatorBuilder": "made where an operator is defined, by `Library.operator`",
    "torch.npu.copies.across": "copies so many bytes of memory: `copy_`, which counts them, is called",
    "torch.npu.copies.within": "copies so many bytes of memory: `copy_`, which counts them, is called",
    "torch.npu.memory.free_host": "takes an address",
    "torch.backends.from_buffer": "takes an address",
    "torch.serialization.LoadEndianness": "an enumeration",
    "torch.serialization.save": "writes a file",
    "torch.storage.TypedStorage": "made of what checkpoints name: its methods are called",
}


def reason(call: Call, kind: str, ours: Outcome, theirs: Outcome | None) -> Reason | None:
    """The first reason why a difference is none."""
    return next((r for r in REASONS if kind in r.kinds and r.applies(call, ours, theirs)), None)


# What the interpreter, or NumPy, says where code goes on with an object of another type.
_PYTHONS_WORDS = re.compile(
    r"^(?:type object )?'[^']+'(?: '[^']*')? object has no attribute|^type object '[^']+' has no attribute|"
    r"^'[^']+' object is not (?:callable|iterable|subscriptable|an iterator)|^object of type '[^']+' has no len\(\)|"
    r"^'[^']+' object cannot be interpreted|not supported between instances of|^unsupported operand|^bad operand type|"
    r"^can't multiply sequence|^cannot unpack non-iterable|^'[^']+' object does not support|"
    r"^only integers, slices|^unhashable type|^(?:not enough|too many) values to unpack|^ufunc '|"
    r"^The truth value of an array"
)
_CONSIDERED = {"TypeError", "ValueError", "RuntimeError", "IndexError"}


def _considered(ours: Outcome, theirs: Outcome | None) -> bool:
    from benchmarks.fuzz.judge import INTERNAL, NEVER

    if not isinstance(ours, Raised) or _PYTHONS_WORDS.search(message(theirs)) is None:
        return False
    return bool(_CONSIDERED & set(ours.bases)) and not (NEVER & set(ours.bases) or INTERNAL.search(ours.message))


_SAYS_WHAT = re.compile("must be|have to be|modes are called at|got no inputs|^Expected strategy to be")
_NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|Cannot allocate memory|std::bad_alloc")

OF_ANY_CALL = (
    Reason(
        "tensors on npu and elsewhere: PyTorch's side ran on one device",
        kinds("refused error"),
        lambda call, ours, theirs: "npu" in call.devices() and "devic" in message(ours),
    ),
    Reason(
        "NumPy 2 calls with `copy`, `context` and `return_scalar`, which PyTorch does not know yet",
        kinds("accepted"),
        lambda call, ours, theirs: (
            re.search(r"__array(_wrap)?__\(\) (got an unexpected keyword|takes \d)", message(theirs)) is not None
        ),
    ),
    Reason(
        "a device that PyTorch's side was built without, and ours counts as the NPU or names as missing",
        kinds("accepted error"),
        lambda call, ours, theirs: (
            re.search(
                "not compiled with CUDA|not linked with support for|Cannot access accelerator device|"
                "from the 'CUDA' backend",
                message(theirs),
            )
            is not None
        ),
    ),
    Reason(
        "streams and events of the accelerator, of which PyTorch's side has none: there they are the CPU's",
        kinds("refused"),
        lambda call, ours, theirs: (
            re.search(r"npu\.Event: events shared between processes|npu:\d+ does not exist", message(ours)) is not None
        ),
    ),
    Reason(
        "PyTorch reads the memory of whatever it is given as that of an event or a stream",
        kinds("refused error"),
        lambda call, ours, theirs: (
            re.match("expected (event|stream) to be a torch.(Event|Stream) object, not", message(ours)) is not None
        ),
    ),
    Reason(
        "a keyword that no parameter has, which PyTorch refuses in words and a class of its own",
        kinds("error"),
        lambda call, ours, theirs: (
            "parse record_event arg fails" in message(theirs) and "unexpected keyword argument" in message(ours)
        ),
    ),
    Reason(
        "PyTorch has no memory for what ours computes without, or the other way round",
        kinds("hang accepted value"),
        lambda call, ours, theirs: _NO_MEMORY.search(message(theirs)) is not None,
    ),
    Reason(
        "PyTorch copies the tensor first, for which no memory can have room; ours computes, until it is interrupted",
        kinds("hang"),
        lambda call, ours, theirs: "Storage size calculation overflowed" in message(theirs),
    ),
    Reason(
        "pinned memory is for an accelerator: ours has the NPU, PyTorch's side has none",
        kinds("accepted"),
        lambda call, ours, theirs: (
            re.search("pin_memory=True requires|does not support pinned memory", message(theirs)) is not None
            or ("npu" in call.source() and message(theirs) == "CPU device type not an accelerator.")
        ),
    ),
    Reason(
        "a dtype that PyTorch has no kernel for, and ours has",
        kinds("accepted"),
        lambda call, ours, theirs: (
            re.search("not implemented for '|not supported for|only supports", message(theirs)) is not None
            and isinstance(theirs, Raised)
            and theirs.bases[0] in ("NotImplementedError", "RuntimeError")
        ),
    ),
    Reason(
        "a number that stands for no dtype: PyTorch cuts it to 8 bits, and goes on with the dtype of what is left",
        kinds("refused error"),
        lambda call, ours, theirs: (
            re.search(r"must be torch\.dtype(?: or None)?, not int$", message(ours).partition("\n")[0]) is not None
        ),
    ),
    Reason(
        "tensors on meta and elsewhere are told before what is wrong with a number, or what meta has no values for",
        kinds("error"),
        lambda call, ours, theirs: (
            "meta" in call.devices()
            and "Expected all tensors to be on the same device" in message(ours)
            and isinstance(theirs, Raised)
            and bool({"OverflowError", "NotImplementedError"} & set(theirs.bases))
        ),
    ),
    Reason(
        "PyTorch has no kernel for a dtype, and says so before it compares the operands' dtypes; ours has one",
        kinds("error"),
        lambda call, ours, theirs: (
            raises(theirs, "NotImplementedError")
            and "not implemented for '" in message(theirs)
            and re.match("expected (scalar type|m1 and m2)", message(ours)) is not None
        ),
    ),
    Reason(
        "an overload that PyTorch itself has for other devices only, and ours does not declare",
        kinds("error"),
        lambda call, ours, theirs: (
            re.match(r"Could not run 'aten::\S+' with arguments from the 'CPU' backend", message(theirs)) is not None
            and isinstance(ours, Raised)
            and "TypeError" in ours.bases
        ),
    ),
    Reason(
        "whether a number fits a dtype is asked where it is written, and on meta nothing is",
        kinds("accepted"),
        lambda call, ours, theirs: (
            "meta" in call.devices()
            and re.match(
                "could not convert to type .* without overflow|cannot convert float (infinity|NaN) to integer",
                message(theirs),
            )
            is not None
        ),
    ),
    Reason(
        "a meta tensor beside one with values: PyTorch reads what is behind its null pointer",
        kinds("refused value"),
        lambda call, ours, theirs: "meta" in call.devices(),
    ),
    Reason(
        "an overload, a dtype or a device that is declared for PyTorch and not for ours: says so",
        kinds("refused error"),
        lambda call, ours, theirs: isinstance(ours, Raised) and "NotImplementedError" in ours.bases,
    ),
    Reason(
        "PyTorch goes on with an argument of a wrong type until the interpreter stops it; ours says what is wrong",
        kinds("error"),
        lambda call, ours, theirs: _considered(ours, theirs),
    ),
    Reason(
        "PyTorch's rules for meta tensors assert, or there is none; ours says what its kernels say",
        kinds("error"),
        lambda call, ours, theirs: (
            "meta" in call.devices()
            and (raises(theirs, "AssertionError") or "no fake impl or Meta kernel" in message(theirs))
            and isinstance(ours, Raised)
            and "RuntimeError" in ours.bases
        ),
    ),
    Reason(
        "of two faults, a number beyond 64 bits is told before an argument that no form of the function takes",
        kinds("error"),
        lambda call, ours, theirs: (
            message(ours).startswith("int too big to convert")
            and "received an invalid combination of arguments" in message(theirs)
        ),
    ),
    Reason(
        "what cannot be called is refused where it is registered, not where it would be called",
        kinds("refused"),
        lambda call, ours, theirs: (
            re.search("^a hook must be callable|^Input function is required to be a", message(ours)) is not None
        ),
    ),
    Reason(
        "PyTorch's builtin functions take an `out` that they are not documented to have",
        kinds("refused error"),
        lambda call, ours, theirs: (
            re.search(r"unexpected keyword argument 'out'|\(.*\bout=\w+\), but expected", message(ours)) is not None
        ),
    ),
    Reason(
        "PyTorch asserts what an argument is; ours is an error that says so",
        kinds("error"),
        lambda call, ours, theirs: (
            isinstance(theirs, Raised)
            and isinstance(ours, Raised)
            and theirs.bases[0] == "AssertionError"
            and bool({"TypeError", "ValueError", "RuntimeError"} & set(ours.bases))
            and _SAYS_WHAT.search(message(ours)) is not None
        ),
    ),
    Reason(
        "what is written to a tensor given has no gradient: ours refuses to lose it, as PyTorch in most operators; in "
        "the others PyTorch's is lost without a word, or raises when it is asked for",
        kinds("refused error"),
        lambda call, ours, theirs: (
            "functions with out=... arguments don't support automatic differentiation" in message(ours)
        ),
    ),
    Reason(
        "an NPU of an index that there cannot be: PyTorch's side ran on the CPU",
        kinds("refused error"),
        lambda call, ours, theirs: "NPUs are supported" in message(ours),
    ),
    Reason(
        "PyTorch has no gradient for a result of that dtype; ours gives the result (integers require none)",
        kinds("accepted"),
        lambda call, ours, theirs: (
            re.search("Autograd not support dtype|automatic differentiation for outputs with complex", message(theirs))
            is not None
        ),
    ),
    Reason(
        "an assertion of PyTorch's own failed, or a library that it hands the call to cannot do it",
        kinds("accepted error"),
        lambda call, ours, theirs: (
            re.search(
                "INTERNAL ASSERT FAILED|primitive descriptor|itensor_view_from_dense|undefined Tensor|"
                "basic_string: construction from null|unpackString: expected bytes|"
                "^unknown parameter type$",
                message(theirs),
            )
            is not None
        ),
    ),
    Reason(
        "PyTorch cuts what it quotes in the middle of a letter, and cannot say it",
        kinds("error"),
        lambda call, ours, theirs: raises(theirs, "UnicodeDecodeError") and isinstance(ours, Raised),
    ),
    Reason(
        "a Size of more than 64 bits, which PyTorch makes and then neither prints nor counts",
        kinds("refused"),
        lambda call, ours, theirs: re.match(r"torch\.Size\(\): item \d+: Overflow", message(ours)) is not None,
    ),
    Reason(
        "between truth values there is no difference: PyTorch's rule for meta says so, ours leaves it to kernels",
        kinds("accepted"),
        lambda call, ours, theirs: (
            "meta" in call.devices() and "operator, with two bool tensors is not supported" in message(theirs)
        ),
    ),
    Reason(
        "of more gradients than tensors PyTorch drops the rest without a word; ours says that there are too many",
        kinds("refused"),
        lambda call, ours, theirs: re.match(r"got \d+ tensors and \d+ gradients", message(ours)) is not None,
    ),
    Reason(
        "None for a tensor is an undefined tensor for PyTorch's operators: some hand it on, some read its sizes",
        kinds("refused error"),
        lambda call, ours, theirs: (
            "must be Tensor, not NoneType" in message(ours)
            and (
                raises(theirs, "IndexError")
                or "UndefinedTensorImpl" in message(theirs)
                or (isinstance(theirs, Returned) and theirs.value is None)
            )
        ),
    ),
    Reason(
        "PyTorch's tracer compiles what it records, which an operator has no name for; ours only records",
        kinds("accepted error"),
        lambda call, ours, theirs: message(theirs).startswith("Could not get qualified name for class"),
    ),
    Reason(
        "the empty string has no item that is no number, and is a shape without dimensions for broadcast_shapes",
        kinds("refused"),
        lambda call, ours, theirs: re.search("list of ints, got (str|bytes)$", message(ours)) is not None,
    ),
    Reason(
        "what has a __torch_function__, as torch.Tensor and what has every attribute, stands for any argument there",
        kinds("refused"),
        lambda call, ours, theirs: re.search("must be bool, not (Anything|type)$", message(ours)) is not None,
    ),
    Reason(
        "PyTorch takes the class Tensor for an array of CUDA's, as it has an attribute of that name",
        kinds("error"),
        lambda call, ours, theirs: message(theirs) == "`__cuda_array_interface__` must be a dict",
    ),
    Reason(
        "both had no memory",
        kinds("text error"),
        lambda call, ours, theirs: (
            raises(ours, "MemoryError")
            and (raises(theirs, "MemoryError") or _NO_MEMORY.search(message(theirs)) is not None)
        ),
    ),
    Reason(
        "a list that says it is longer than memory: PyTorch believes it",
        kinds("error accepted"),
        lambda call, ours, theirs: raises(theirs, "MemoryError") and "LongLen" in call.source(),
    ),
)

REASONS = (*OF_ANY_CALL, *OF_SINGLE_FUNCTIONS, *OF_OBJECTS)
