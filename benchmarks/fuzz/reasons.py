"""Where ours and PyTorch differ and no finding is meant: each case with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.fuzz.outcome import Outcome, Raised, Returned
from benchmarks.fuzz.sameness import (
    same_but_for_grad,
    same_but_for_nan,
    same_but_for_tangents,
    same_form,
    same_magnitudes,
)
from benchmarks.fuzz.values import TensorValue

if TYPE_CHECKING:
    from benchmarks.fuzz.program import Call

__all__ = ["LEFT_OUT", "REASONS", "Reason", "reason"]

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
    "torch._core.npu_recent_launches": "takes a stream's address",
    "torch._core.npu_tape_allocations": "takes a stream's address",
    "torch._core.npu_begin_recording": "takes a model's address",
    "torch._core.npu_end_recording": "takes a model's address",
    "torch.npu.ExternalStream": "takes a stream's address",
}


@dataclass(frozen=True)
class Reason:
    """A difference that is meant: of these kinds of findings, where it applies."""

    name: str
    kinds: frozenset[str]
    applies: Callable[[Call, Outcome, Outcome | None], bool]


def reason(call: Call, kind: str, ours: Outcome, theirs: Outcome | None) -> Reason | None:
    """The first reason why a difference is none."""
    return next((r for r in REASONS if kind in r.kinds and r.applies(call, ours, theirs)), None)


def _kinds(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RANDOM = re.compile(r"rand|normal_?$|uniform|bernoulli|dropout|exponential|kaiming|xavier|Linear|Embedding|seed")
_UNINITIALISED = re.compile(r"empty|resize|set_$|alloc")


def _name(call: Call) -> str:
    return call.target.name


_OWN_FORM = re.compile(
    r"data_ptr$|__hash__$|__reduce|__getstate__$|__repr__$|__str__$|__format__$|__dir__$|_cdata|__doc__$|_sequence_nr$"
)


def _own_form(call: Call, theirs: Outcome | None) -> bool:
    printed = isinstance(theirs, Returned) and "object at 0x" in str(theirs.value)
    return printed or _OWN_FORM.search(_name(call)) is not None


def _by_name(call: Call) -> bool:
    return re.search(r"\.__\w+__$", _name(call)) is not None


# What the interpreter, or NumPy, says where code goes on with an object of another type.
_PYTHONS_WORDS = re.compile(
    r"^(?:type object )?'[^']+'(?: '[^']*')? object has no attribute|^type object '[^']+' has no attribute|"
    r"^'[^']+' object is not (?:callable|iterable|subscriptable|an iterator)|^object of type '[^']+' has no len\(\)|"
    r"^'[^']+' object cannot be interpreted|not supported between instances of|^unsupported operand|^bad operand type|"
    r"^can't multiply sequence|^cannot unpack non-iterable|^'[^']+' object does not support|"
    r"^only integers, slices|^unhashable type|^(?:not enough|too many) values to unpack|^ufunc '"
)
_CONSIDERED = {"TypeError", "ValueError", "RuntimeError", "IndexError"}


def _considered(ours: Outcome, theirs: Outcome | None) -> bool:
    from benchmarks.fuzz.judge import INTERNAL, NEVER

    if not isinstance(ours, Raised) or _PYTHONS_WORDS.search(_message(theirs)) is None:
        return False
    return bool(_CONSIDERED & set(ours.bases)) and not (NEVER & set(ours.bases) or INTERNAL.search(ours.message))


NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|Cannot allocate memory|std::bad_alloc")


def _raises(outcome: Outcome | None, error: str) -> bool:
    return isinstance(outcome, Raised) and outcome.bases[0] == error


def _written_over(call: Call) -> bool:
    """Whether elements of what an operator writes to may share memory, with one another or with what it reads.

    `copy`, `slice_scatter` and their like write in PyTorch into a copy that has self's strides.
    """
    first = call.arguments[0].value if call.arguments else None
    overlaps = isinstance(first, TensorValue) and first.layout in ("window", "expanded")
    if _name(call).endswith("as_strided_scatter"):
        return overlaps or _strides_overlap(call)
    viewed = re.search(r"^v\d+ = ", call.source(), re.MULTILINE) is not None
    return (overlaps and _name(call).endswith(("_", ".copy", "_scatter"))) or (viewed and _name(call).endswith("_"))


def _strides_overlap(call: Call) -> bool:
    """Whether places that `as_strided_scatter` writes to are the same: a stride within what smaller ones reach."""
    lists = re.findall(r"[\[(]([-\d, ]+)[\])]", call.source().splitlines()[-1].partition("(")[2])
    if len(lists) < 2:
        return False
    size, stride = ([int(n) for n in text.split(",") if n.strip()] for text in lists[-2:])
    reached = 0
    for step, count in sorted(zip(stride, size, strict=False)):
        if count > 1 and step <= reached:
            return True
        reached += step * (count - 1)
    return False


_SIZES_ALONE = re.compile(r"torch\.Tensor\((?:torch\.Size\(\[[^\]]*\]\)|[\w.*()-]+(?:, [\w.*()-]+)*)\)$")


# Of these PyTorch reads a size of one tensor that the rank of another promises.
_READS_SIZES = re.compile(r"\.(baddbmm|embedding|mv|scatter_add_?|nll_loss\w*)$")


def _message(outcome: Outcome | None) -> str:
    return outcome.message if isinstance(outcome, Raised) else ""


REASONS = (
    Reason(
        "random numbers are other ones; shape and dtype are compared",
        _kinds("value"),
        lambda call, ours, theirs: _RANDOM.search(_name(call)) is not None and same_form(call, ours, theirs),
    ),
    Reason(
        "memory that nobody wrote to has no values; shape and dtype are compared",
        _kinds("value"),
        lambda call, ours, theirs: (
            (
                _UNINITIALISED.search(_name(call)) is not None
                or (_name(call) == "torch.Tensor" and _SIZES_ALONE.search(call.source()) is not None)
            )
            and same_form(call, ours, theirs)
        ),
    ),
    Reason(
        "tensors on npu and elsewhere: PyTorch's side ran on one device",
        _kinds("refused error"),
        lambda call, ours, theirs: "npu" in call.devices() and "devic" in _message(ours),
    ),
    Reason(
        "an address, a count, and how an object is pickled or printed, are each library's own",
        _kinds("value"),
        lambda call, ours, theirs: _own_form(call, theirs),
    ),
    Reason(
        "what an object is pickled as, and whether its class leaves that to __reduce_ex__, is each library's own",
        _kinds("accepted error refused"),
        lambda call, ours, theirs: _name(call).endswith((".__reduce__", ".__reduce_ex__")),
    ),
    Reason(
        "what is asked of the NPU says so: PyTorch's side was on the CPU",
        _kinds("value"),
        lambda call, ours, theirs: (
            "npu" in call.devices()
            and re.search(r"\.(is_cpu|is_npu|get_device|type|get_autocast_dtype)$", _name(call)) is not None
        ),
    ),
    Reason(
        "NumPy 2 calls with `copy`, `context` and `return_scalar`, which PyTorch does not know yet",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            re.search(r"__array(_wrap)?__\(\) (got an unexpected keyword|takes \d)", _message(theirs)) is not None
        ),
    ),
    Reason(
        "a device that PyTorch's side was built without, and ours counts as the NPU or names as missing",
        _kinds("accepted error"),
        lambda call, ours, theirs: (
            re.search(
                "not compiled with CUDA|Cannot access accelerator device|from the 'CUDA' backend", _message(theirs)
            )
            is not None
        ),
    ),
    Reason(
        "a special method called by name with too many arguments: PyTorch's wrapper makes any TypeError NotImplemented",
        _kinds("refused error"),
        lambda call, ours, theirs: (
            _by_name(call)
            and (
                re.search("takes|expected .* argument|modulo|must be", _message(ours)) is not None
                or (_name(call).endswith("pow__") and len(call.arguments) > 2)
            )
        ),
    ),
    Reason(
        "Python's own `**` has a third argument, None; called by name with it PyTorch's wrapper gives NotImplemented",
        _kinds("value"),
        lambda call, ours, theirs: _name(call).endswith("pow__") and len(call.arguments) > 2,
    ),
    Reason(
        "PyTorch has no memory for what ours computes without, or the other way round",
        _kinds("hang accepted value"),
        lambda call, ours, theirs: NO_MEMORY.search(_message(theirs)) is not None,
    ),
    Reason(
        "PyTorch copies the tensor first, for which no memory can have room; ours computes, until it is interrupted",
        _kinds("hang"),
        lambda call, ours, theirs: "Storage size calculation overflowed" in _message(theirs),
    ),
    Reason(
        "pinned memory is for an accelerator: ours has the NPU, PyTorch's side has none",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            re.search("pin_memory=True requires|does not support pinned memory", _message(theirs)) is not None
            or ("npu" in call.source() and _message(theirs) == "CPU device type not an accelerator.")
        ),
    ),
    Reason(
        "a dtype that PyTorch has no kernel for, and ours has",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            re.search("not implemented for '|not supported for|only supports", _message(theirs)) is not None
            and isinstance(theirs, Raised)
            and theirs.bases[0] in ("NotImplementedError", "RuntimeError")
        ),
    ),
    Reason(
        "a number that stands for no dtype: PyTorch cuts it to 8 bits, and goes on with the dtype of what is left",
        _kinds("refused error"),
        lambda call, ours, theirs: (
            re.search(r"must be torch\.dtype(?: or None)?, not int$", _message(ours).partition("\n")[0]) is not None
        ),
    ),
    Reason(
        "tensors on meta and elsewhere are told before what is wrong with a number, or what meta has no values for",
        _kinds("error"),
        lambda call, ours, theirs: (
            "meta" in call.devices()
            and "Expected all tensors to be on the same device" in _message(ours)
            and isinstance(theirs, Raised)
            and bool({"OverflowError", "NotImplementedError"} & set(theirs.bases))
        ),
    ),
    Reason(
        "PyTorch has no kernel for a dtype, and says so before it compares the operands' dtypes; ours has one",
        _kinds("error"),
        lambda call, ours, theirs: (
            _raises(theirs, "NotImplementedError")
            and "not implemented for '" in _message(theirs)
            and re.match("expected (scalar type|m1 and m2)", _message(ours)) is not None
        ),
    ),
    Reason(
        "an overload that PyTorch itself has for other devices only, and ours does not declare",
        _kinds("error"),
        lambda call, ours, theirs: (
            re.match(r"Could not run 'aten::\S+' with arguments from the 'CPU' backend", _message(theirs)) is not None
            and isinstance(ours, Raised)
            and "TypeError" in ours.bases
        ),
    ),
    Reason(
        "copies from one device to another are a kernel of other devices in PyTorch, which has none for CPU and meta",
        _kinds("accepted error"),
        lambda call, ours, theirs: (
            re.search(r"\._copy_from(_and_resize)?$", _name(call)) is not None
            and re.match(r"Could not run 'aten::_copy_from|aten::_copy_from\S*: attempted to run", _message(theirs))
            is not None
        ),
    ),
    Reason(
        "PyTorch's operator `set_`, unlike its method, reads a tensor's bytes as another dtype's, beyond their end too",
        _kinds("refused"),
        lambda call, ours, theirs: (
            _name(call) == "torch.ops.aten.set_" and _message(ours).startswith("Could not set tensor of type")
        ),
    ),
    Reason(
        "PyTorch's `_reshape_alias` does not ask what its view reaches, and reads beyond the memory",
        _kinds("refused"),
        lambda call, ours, theirs: (
            _name(call).endswith("._reshape_alias") and "are out of bounds for storage of size" in _message(ours)
        ),
    ),
    Reason(
        "among indices None is a whole dimension, here as in an overload's schema; PyTorch's methods leave it out",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            _name(call).rstrip("_").endswith(".index_put")
            and re.match(r"expected Tensor as element \d+ in .* but got NoneType", _message(theirs)) is not None
        ),
    ),
    Reason(
        "whether a number fits a dtype is asked where it is written, and on meta nothing is",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            "meta" in call.devices()
            and re.match(
                "could not convert to type .* without overflow|cannot convert float (infinity|NaN) to integer",
                _message(theirs),
            )
            is not None
        ),
    ),
    Reason(
        "PyTorch's product of a size and how often it is repeated overflows 64 bits, and another size is left",
        _kinds("refused"),
        lambda call, ours, theirs: _name(call).endswith(".repeat") and "overflow" in _message(ours),
    ),
    Reason(
        "a meta tensor beside one with values: PyTorch reads what is behind its null pointer",
        _kinds("refused value"),
        lambda call, ours, theirs: "meta" in call.devices(),
    ),
    Reason(
        "an overload, a dtype or a device that is declared for PyTorch and not for ours: says so",
        _kinds("refused error"),
        lambda call, ours, theirs: isinstance(ours, Raised) and "NotImplementedError" in ours.bases,
    ),
    Reason(
        "`view(dtype)`, which reads elements as those of another dtype, is no overload of ours: says so",
        _kinds("refused error"),
        lambda call, ours, theirs: (
            _name(call).endswith(".view")
            and re.search("'size'.* must be tuple of ints, not d?type$", _message(ours).partition("\n")[0]) is not None
        ),
    ),
    Reason(
        "PyTorch goes on with an argument of a wrong type until the interpreter stops it; ours says what is wrong",
        _kinds("error"),
        lambda call, ours, theirs: _considered(ours, theirs),
    ),
    Reason(
        "the core's own functions are called by this package only: that they refuse is enough",
        _kinds("text"),
        lambda call, ours, theirs: _name(call).startswith("torch._core."),
    ),
    Reason(
        "a number beside a tensor is an operator's Scalar overload here, which has no edge for it",
        _kinds("value"),
        lambda call, ours, theirs: _name(call).endswith(".next_functions"),
    ),
    Reason(
        "PyTorch's rules for meta tensors assert, or there is none; ours says what its kernels say",
        _kinds("error"),
        lambda call, ours, theirs: (
            "meta" in call.devices()
            and (_raises(theirs, "AssertionError") or "no fake impl or Meta kernel" in _message(theirs))
            and isinstance(ours, Raised)
            and "RuntimeError" in ours.bases
        ),
    ),
    Reason(
        "a hook that cannot be called is refused where it is registered, not where it would be called",
        _kinds("refused"),
        lambda call, ours, theirs: _message(ours).startswith("a hook must be callable"),
    ),
    Reason(
        "without a device GradScaler is for the NPU here, and for a GPU there, where it is disabled without one",
        _kinds("refused"),
        lambda call, ours, theirs: (
            _name(call) == "torch.amp.GradScaler"
            and re.search(r"GradScaler\((?!device=)\w+=", call.source()) is not None
            and "device=" not in call.source()
        ),
    ),
    Reason(
        "PyTorch's builtin functions take an `out` that they are not documented to have",
        _kinds("refused error"),
        lambda call, ours, theirs: (
            re.search(r"unexpected keyword argument 'out'|\(.*\bout=\w+\), but expected", _message(ours)) is not None
        ),
    ),
    Reason(
        "of a subclass's tensors PyTorch's l1_loss forgets the weight, where it asks for their __torch_function__",
        _kinds("value accepted refused"),
        lambda call, ours, theirs: (
            _name(call) == "torch.nn.functional.l1_loss"
            and "as_subclass" in call.source()
            and ("weight=" in call.source() or len(call.arguments) == 6)
        ),
    ),
    Reason(
        "of infinity PyTorch's float32 gelu is NaN, its gelu of one element or of float64 infinity, as ours always is",
        _kinds("value"),
        lambda call, ours, theirs: "gelu" in _name(call) and same_but_for_nan(ours, theirs),
    ),
    Reason(
        "PyTorch asserts what an argument is; ours is an error that says so",
        _kinds("error"),
        lambda call, ours, theirs: (
            isinstance(theirs, Raised)
            and isinstance(ours, Raised)
            and theirs.bases[0] == "AssertionError"
            and bool({"TypeError", "ValueError", "RuntimeError"} & set(ours.bases))
            and re.search("must be|have to be|modes are called at|got no inputs", _message(ours)) is not None
        ),
    ),
    Reason(
        "a kernel for an operator that does not exist: PyTorch keeps it for one that may come, ours names a near one",
        _kinds("refused"),
        lambda call, ours, theirs: (
            _name(call).startswith("torch.library.")
            and re.match(r"operator \S+ does not exist", _message(ours)) is not None
        ),
    ),
    Reason(
        "an enumeration is Python's here, and answers calls as such; PyTorch's is its binding's",
        _kinds("error text accepted refused"),
        lambda call, ours, theirs: _name(call).endswith(".Tag"),
    ),
    Reason(
        "PyTorch makes tangents laid out as the primal is, so that those of tensors that overlap themselves overlap",
        _kinds("accepted value"),
        lambda call, ours, theirs: (
            (_name(call).startswith("torch.func.") and "more than one element of the written-to" in _message(theirs))
            or (
                re.search(r"torch\.func\.(jacfwd|hessian|jvp)$", _name(call)) is not None
                and any(t.layout == "window" for t in call.tensors())
                and same_but_for_tangents(call, ours, theirs)
            )
        ),
    ),
    Reason(
        "where one of two tensors has no tangent PyTorch multiplies by zeros, which it records; ours leaves that out",
        _kinds("value"),
        lambda call, ours, theirs: (
            re.search(r"torch\.func\.(jacfwd|hessian|jvp)$", _name(call)) is not None
            and same_but_for_grad(ours, theirs)
        ),
    ),
    Reason(
        "an NPU of an index that there cannot be: PyTorch's side ran on the CPU",
        _kinds("refused error"),
        lambda call, ours, theirs: "NPUs are supported" in _message(ours),
    ),
    Reason(
        "PyTorch reads the size of a dimension before it counts the dimensions, and says that it is out of range",
        _kinds("error"),
        lambda call, ours, theirs: (
            _READS_SIZES.search(_name(call)) is not None
            and re.match("Dimension (out of range|specified as)", _message(theirs)) is not None
            and isinstance(ours, Raised)
            and "RuntimeError" in ours.bases
        ),
    ),
    Reason(
        "what is written where elements share memory depends on the order, which is each library's own",
        _kinds("value"),
        lambda call, ours, theirs: _written_over(call) and same_form(call, ours, theirs),
    ),
    Reason(
        "PyTorch compares no shapes here, and reads beyond the smaller tensor",
        _kinds("refused value"),
        lambda call, ours, theirs: (
            _name(call).endswith("_log_softmax_backward_data") and "do not fit one another" in _message(ours)
        ),
    ),
    Reason(
        "an operator written in place to a number gives the tensor that stood for it; PyTorch makes it a number again",
        _kinds("value"),
        lambda call, ours, theirs: (
            _name(call).startswith("torch.ops.aten.")
            and _name(call).endswith("_")
            and isinstance(theirs, Returned)
            and isinstance(theirs.value, (bool, int, float))
        ),
    ),
    Reason(
        "the overloads and the tags of an operator are those that are declared for it",
        _kinds("value"),
        lambda call, ours, theirs: _name(call).endswith((".overloads", ".tags")),
    ),
    Reason(
        "PyTorch has no gradient for a result of that dtype; ours gives the result (integers require none)",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            re.search("Autograd not support dtype|automatic differentiation for outputs with complex", _message(theirs))
            is not None
        ),
    ),
    Reason(
        "an assertion of PyTorch's own failed, or a library that it hands the call to cannot do it",
        _kinds("accepted error"),
        lambda call, ours, theirs: (
            re.search(
                "INTERNAL ASSERT FAILED|primitive descriptor|itensor_view_from_dense|undefined Tensor|"
                "basic_string: construction from null|unpackString: expected bytes|"
                "^unknown parameter type$",
                _message(theirs),
            )
            is not None
        ),
    ),
    Reason(
        "PyTorch cuts what it quotes in the middle of a letter, and cannot say it",
        _kinds("error"),
        lambda call, ours, theirs: _raises(theirs, "UnicodeDecodeError") and isinstance(ours, Raised),
    ),
    Reason(
        "PyTorch's sub of floats negates an integer alpha in 64 bits, in which -2**63 stays what it is",
        _kinds("value"),
        lambda call, ours, theirs: (
            re.search(r"\.r?sub_?$", _name(call)) is not None
            and "-2**63" in call.source()
            and same_magnitudes(ours, theirs)
        ),
    ),
    Reason(
        "PyTorch's vmap takes the first of a batch of none, to learn the dtype beside a number",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            _name(call).startswith(("torch.func.", "torch.vmap"))
            and "index 0 out of range for tensor of size [0] at dimension 0" in _message(theirs)
        ),
    ),
    Reason(
        "`==` of a tensor and an array compares their elements in both libraries, `!=` here as well",
        _kinds("value"),
        lambda call, ours, theirs: (
            _name(call).endswith(".__ne__")
            and "numpy." in call.source()
            and isinstance(ours, Returned)
            and isinstance(theirs, Returned)
            and isinstance(ours.value, dict)
            and ours.value.get("dtype") == "bool"
            and not isinstance(theirs.value, dict)  # NotImplemented
        ),
    ),
    Reason(
        "a Size of more than 64 bits, which PyTorch makes and then neither prints nor counts",
        _kinds("refused"),
        lambda call, ours, theirs: re.match(r"torch\.Size\(\): item \d+: Overflow", _message(ours)) is not None,
    ),
    Reason(
        "PyTorch's count of parts overflows 64 bits",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            "split expects split_size be non-negative, but got split_size=-1" in _message(theirs)
            or (_name(call).endswith("chunk") and "split_size can only be 0" in _message(theirs))
        ),
    ),
    Reason(
        "PyTorch's count of bytes overflows 64 bits",
        _kinds("value"),
        lambda call, ours, theirs: (
            _name(call).endswith(".nbytes")
            and isinstance(ours, Returned)
            and isinstance(ours.value, int)
            and ours.value >= 2**63
        ),
    ),
    Reason(
        "between truth values there is no difference: PyTorch's rule for meta says so, ours leaves it to kernels",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            "meta" in call.devices() and "operator, with two bool tensors is not supported" in _message(theirs)
        ),
    ),
    Reason(
        "NumPy's numbers are numbers: PyTorch reads (number, number) as the older form (alpha, other) for them alone",
        _kinds("refused"),
        lambda call, ours, theirs: (
            re.search(r"\.(add|sub)_?$", _name(call)) is not None
            and "numpy." in call.source()
            and "alpha" in _message(ours)
        ),
    ),
    Reason(
        "two numbers beside a tensor of integers are (other, alpha): PyTorch reads those of which one is a tensor, too",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            re.search(r"\.(add|sub)_?$", _name(call)) is not None
            and "argument alpha must not be a floating point number" in _message(theirs)
            and len(call.arguments) == 3
        ),
    ),
    Reason(
        "of more gradients than tensors PyTorch drops the rest without a word; ours says that there are too many",
        _kinds("refused"),
        lambda call, ours, theirs: re.match(r"got \d+ tensors and \d+ gradients", _message(ours)) is not None,
    ),
    Reason(
        "None for a tensor is an undefined tensor for PyTorch's operators: some hand it on, some read its sizes",
        _kinds("refused error"),
        lambda call, ours, theirs: (
            "must be Tensor, not NoneType" in _message(ours)
            and (
                _raises(theirs, "IndexError")
                or "UndefinedTensorImpl" in _message(theirs)
                or (isinstance(theirs, Returned) and theirs.value is None)
            )
        ),
    ),
    Reason(
        "PyTorch's tracer compiles what it records, which an operator has no name for; ours only records",
        _kinds("accepted error"),
        lambda call, ours, theirs: _message(theirs).startswith("Could not get qualified name for class"),
    ),
    Reason(
        "the empty string has no item that is no number, and is a shape without dimensions for broadcast_shapes",
        _kinds("refused"),
        lambda call, ours, theirs: re.search("list of ints, got (str|bytes)$", _message(ours)) is not None,
    ),
    Reason(
        "what has a __torch_function__, as torch.Tensor and what has every attribute, stands for any argument there",
        _kinds("refused"),
        lambda call, ours, theirs: re.search("must be bool, not (Anything|type)$", _message(ours)) is not None,
    ),
    Reason(
        "PyTorch takes any number for a dtype where an operator is called, and cuts it to a byte",
        _kinds("refused"),
        lambda call, ours, theirs: (
            _name(call).startswith("torch.ops.")
            and re.search(r"must be torch\.dtype( or None)?, not int", _message(ours)) is not None
        ),
    ),
    Reason(
        "a sample of a batch of none, for which no memory has room: PyTorch counts no bytes before it needs them",
        _kinds("refused"),
        lambda call, ours, theirs: (
            _name(call).endswith("vmap") and _message(ours).startswith("Storage size calculation overflowed")
        ),
    ),
    Reason(
        "PyTorch records linearize with a mode that refuses subclasses; ours only computes",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            _name(call) == "torch.func.linearize" and "torch.fx.experimental.proxy_tensor" in _message(theirs)
        ),
    ),
    Reason(
        "PyTorch's gradgradcheck joins the inputs, a Size, with tensors, of which a Size is not made",
        _kinds("error"),
        lambda call, ours, theirs: (
            _name(call).endswith("gradgradcheck") and _message(theirs).startswith("torch.Size() takes an iterable")
        ),
    ),
    Reason(
        "of a schema with a name PyTorch makes an operator of both names, and then finds none of the first",
        _kinds("error"),
        lambda call, ours, theirs: (
            _name(call) == "torch.library.custom_op"
            and _message(ours).startswith("expected schema to look like")
            and re.search("does not exist|has no attribute", _message(theirs)) is not None
        ),
    ),
    Reason(
        "PyTorch's rule for meta tensors refuses a number on the CPU as dividend, which its other operators take",
        _kinds("accepted"),
        lambda call, ours, theirs: (
            "floor_divide" in _name(call)
            and re.match(
                r"Expected divisor \(b\) to be on the same device \(cpu\) .* but it is found on meta", _message(theirs)
            )
            is not None
        ),
    ),
    Reason(
        "PyTorch takes the class Tensor for an array of CUDA's, as it has an attribute of that name",
        _kinds("error"),
        lambda call, ours, theirs: _message(theirs) == "`__cuda_array_interface__` must be a dict",
    ),
    Reason(
        "functions of tensors are packets of overloads here, which opcheck takes, and built-in ones there",
        _kinds("accepted error"),
        lambda call, ours, theirs: (
            _name(call) == "torch.library.opcheck"
            and re.search(
                r"op must be instance of .* got <class '(builtin_function_or_method|method_descriptor)'>$",
                _message(theirs),
            )
            is not None
        ),
    ),
    Reason(
        "PyTorch's rule for meta tensors compares how many classes a single row has with how many targets there are",
        _kinds("accepted error"),
        lambda call, ours, theirs: (
            _name(call).endswith(("nll_loss", "nll_loss_forward", "nll_loss_nd", "cross_entropy"))
            and "meta" in call.devices()
            and re.match(
                r"size mismatch \(got input: torch\.Size\(\[\d+\]\), target: torch\.Size\(\[\d+\]\)\)", _message(theirs)
            )
            is not None
        ),
    ),
    Reason(
        "both had no memory",
        _kinds("text error"),
        lambda call, ours, theirs: (
            _raises(ours, "MemoryError")
            and (_raises(theirs, "MemoryError") or NO_MEMORY.search(_message(theirs)) is not None)
        ),
    ),
    Reason(
        "a list that says it is longer than memory: PyTorch believes it",
        _kinds("error accepted"),
        lambda call, ours, theirs: _raises(theirs, "MemoryError") and "LongLen" in call.source(),
    ),
)
