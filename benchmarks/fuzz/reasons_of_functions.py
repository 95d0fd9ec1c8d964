"""Where a single function of ours and PyTorch's differ and no finding is meant: each case with its reason."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fuzz.outcome import Outcome, Raised, Returned
from benchmarks.fuzz.reason import Reason, kinds, message, name
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

__all__ = ["OF_SINGLE_FUNCTIONS"]

_LIBRARY = r"orthogonal|\bseed$"  # and beside Intel's processors what PyTorch asks Intel's library for
_ON_INTEL = Path("/proc/cpuinfo").exists() and "GenuineIntel" in Path("/proc/cpuinfo").read_text()
_RANDOM = re.compile(_LIBRARY + (r"|bernoulli|[Dd]ropout|exponential|multinomial" if _ON_INTEL else ""))
_DRAWN = re.compile(r"rand|normal|uniform|nomial|bernoulli|[Dd]ropout|exponential|geometric|cauchy|poisson")
_UNINITIALISED = re.compile(r"empty|resize|set_$|alloc")
_OWN_FORM = re.compile(
    r"data_ptr$|__hash__$|__reduce|__getstate__$|__repr__$|__str__$|__format__$|__dir__$|_cdata|__doc__$|_sequence_nr$"
)


def _own_form(call: Call, theirs: Outcome | None) -> bool:
    printed = isinstance(theirs, Returned) and "object at 0x" in str(theirs.value)
    return printed or _OWN_FORM.search(name(call)) is not None


def _row_major_fits(refusal: str) -> bool:
    """Whether a storage that is too small for a tensor's strides has room for one of its sizes without gaps."""
    said = re.match(
        r"setStorage: sizes \[([\d, ]*)\], strides \[[\d, ]*\], storage offset (\d+), and itemsize (\d+) "
        r"requiring a storage size of \d+ are out of bounds for storage of size (\d+)",
        refusal,
    )
    if said is None:
        return False
    elements = math.prod(int(size) for size in said[1].split(", ") if size)
    offset, itemsize, room = (int(said[at]) for at in (2, 3, 4))
    return (offset + elements) * itemsize <= room


def _by_name(call: Call) -> bool:
    return re.search(r"\.__\w+__$", name(call)) is not None


def _written_over(call: Call) -> bool:
    """Whether elements of what an operator writes to may share memory, with one another or with what it reads.

    `copy`, `slice_scatter` and their like write in PyTorch into a copy that has self's strides.
    """
    first = call.arguments[0].value if call.arguments else None
    overlaps = isinstance(first, TensorValue) and first.layout in ("window", "expanded")
    if name(call).endswith("as_strided_scatter"):
        return overlaps or _strides_overlap(call)
    viewed = re.search(r"^v\d+ = ", call.source(), re.MULTILINE) is not None
    return (overlaps and name(call).endswith(("_", ".copy", "_scatter"))) or (viewed and name(call).endswith("_"))


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

OF_SINGLE_FUNCTIONS = (
    Reason(
        "random numbers that a library makes, whose last bits are its own; shape and dtype are compared",
        kinds("value"),
        lambda call, ours, theirs: _RANDOM.search(name(call)) is not None and same_form(call, ours, theirs),
    ),
    Reason(
        "an NPU draws by Philox, whose numbers are others than the CPU's; shape and dtype are compared",
        kinds("value"),
        lambda call, ours, theirs: (
            "npu" in call.source() and _DRAWN.search(name(call)) is not None and same_form(call, ours, theirs)
        ),
    ),
    Reason(
        "memory that nobody wrote to has no values; shape and dtype are compared",
        kinds("value"),
        lambda call, ours, theirs: (
            (
                _UNINITIALISED.search(name(call)) is not None
                or (name(call) == "torch.Tensor" and _SIZES_ALONE.search(call.source()) is not None)
            )
            and same_form(call, ours, theirs)
        ),
    ),
    Reason(
        "an address, a count, and how an object is pickled or printed, are each library's own",
        kinds("value"),
        lambda call, ours, theirs: _own_form(call, theirs),
    ),
    Reason(
        "what an object is pickled as, and whether its class leaves that to __reduce_ex__, is each library's own",
        kinds("accepted error refused"),
        lambda call, ours, theirs: name(call).endswith((".__reduce__", ".__reduce_ex__")),
    ),
    Reason(
        "what is asked of the NPU says so: PyTorch's side was on the CPU",
        kinds("value"),
        lambda call, ours, theirs: (
            "npu" in call.devices()
            and re.search(r"\.(is_cpu|is_npu|get_device|type|get_autocast_dtype)$", name(call)) is not None
        ),
    ),
    Reason(
        "a special method called by name with too many arguments: PyTorch's wrapper makes any TypeError NotImplemented",
        kinds("refused error"),
        lambda call, ours, theirs: (
            _by_name(call)
            and (
                re.search("takes|expected .* argument|modulo|must be", message(ours)) is not None
                or (name(call).endswith("pow__") and len(call.arguments) > 2)
            )
        ),
    ),
    Reason(
        "Python's own `**` has a third argument, None; called by name with it PyTorch's wrapper gives NotImplemented",
        kinds("value"),
        lambda call, ours, theirs: name(call).endswith("pow__") and len(call.arguments) > 2,
    ),
    Reason(
        "copies from one device to another are a kernel of other devices in PyTorch, which has none for CPU and meta",
        kinds("accepted error"),
        lambda call, ours, theirs: (
            re.search(r"\._copy_from(_and_resize)?$", name(call)) is not None
            and re.match(r"Could not run 'aten::_copy_from|aten::_copy_from\S*: attempted to run", message(theirs))
            is not None
        ),
    ),
    Reason(
        "PyTorch's operator `set_`, unlike its method, reads a tensor's bytes as another dtype's, beyond their end too",
        kinds("refused"),
        lambda call, ours, theirs: (
            name(call) == "torch.ops.aten.set_" and message(ours).startswith("Could not set tensor of type")
        ),
    ),
    Reason(
        "PyTorch's `_reshape_alias` does not ask what its view reaches, and reads beyond the memory",
        kinds("refused"),
        lambda call, ours, theirs: (
            name(call).endswith("._reshape_alias")
            and re.search("are out of bounds for storage of size|^Storage size calculation overflowed", message(ours))
            is not None
        ),
    ),
    Reason(
        "PyTorch's `set_` keeps a tensor's strides where only a row-major one has room, and reads beyond the memory",
        kinds("refused"),
        lambda call, ours, theirs: name(call).endswith("set_") and _row_major_fits(message(ours)),
    ),
    Reason(
        "among indices None is a whole dimension, here as in an overload's schema; PyTorch's methods leave it out",
        kinds("accepted"),
        lambda call, ours, theirs: (
            name(call).rstrip("_").endswith(".index_put")
            and re.match(r"expected Tensor as element \d+ in .* but got NoneType", message(theirs)) is not None
        ),
    ),
    Reason(
        "PyTorch's product of a size and how often it is repeated overflows 64 bits, and another size is left",
        kinds("refused"),
        lambda call, ours, theirs: name(call).endswith(".repeat") and "overflow" in message(ours),
    ),
    Reason(
        "`view(dtype)`, which reads elements as those of another dtype, is no overload of ours: says so",
        kinds("refused error"),
        lambda call, ours, theirs: (
            name(call).endswith(".view")
            and re.search("'size'.* must be tuple of ints, not d?type$", message(ours).partition("\n")[0]) is not None
        ),
    ),
    Reason(
        "the core's own functions are called by this package only: that they refuse is enough",
        kinds("text"),
        lambda call, ours, theirs: name(call).startswith("torch._core."),
    ),
    Reason(
        "a number beside a tensor is an operator's Scalar overload here, which has no edge for it",
        kinds("value"),
        lambda call, ours, theirs: name(call).endswith(".next_functions"),
    ),
    Reason(
        "without a device GradScaler is for the NPU here, and for a GPU there, where it is disabled without one",
        kinds("refused"),
        lambda call, ours, theirs: (
            name(call) == "torch.amp.GradScaler"
            and re.search(r"GradScaler\((?!device=)\w+=", call.source()) is not None
            and "device=" not in call.source()
        ),
    ),
    Reason(
        "of a subclass's tensors PyTorch's l1_loss forgets the weight, where it asks for their __torch_function__",
        kinds("value accepted refused"),
        lambda call, ours, theirs: (
            name(call) == "torch.nn.functional.l1_loss"
            and "as_subclass" in call.source()
            and ("weight=" in call.source() or len(call.arguments) == 6)
        ),
    ),
    Reason(
        "of infinity PyTorch's float32 gelu is NaN, its gelu of one element or of float64 infinity, as ours always is",
        kinds("value"),
        lambda call, ours, theirs: "gelu" in name(call).lower() and same_but_for_nan(ours, theirs),
    ),
    Reason(
        "a kernel for an operator that does not exist: PyTorch keeps it for one that may come, ours names a near one",
        kinds("refused"),
        lambda call, ours, theirs: (
            name(call).startswith("torch.library.")
            and re.match(r"operator \S+ does not exist", message(ours)) is not None
        ),
    ),
    Reason(
        "an enumeration is Python's here, and answers calls as such; PyTorch's is its binding's",
        kinds("error text accepted refused"),
        lambda call, ours, theirs: name(call).endswith(".Tag"),
    ),
    Reason(
        "PyTorch makes tangents laid out as the primal is, so that those of tensors that overlap themselves overlap",
        kinds("accepted value"),
        lambda call, ours, theirs: (
            (name(call).startswith("torch.func.") and "more than one element of the written-to" in message(theirs))
            or (
                re.search(r"torch\.func\.(jacfwd|hessian|jvp)$", name(call)) is not None
                and any(t.layout == "window" for t in call.tensors())
                and same_but_for_tangents(call, ours, theirs)
            )
        ),
    ),
    Reason(
        "where one of two tensors has no tangent PyTorch multiplies by zeros, which it records; ours leaves that out",
        kinds("value"),
        lambda call, ours, theirs: (
            re.search(r"torch\.func\.(jacfwd|hessian|jvp)$", name(call)) is not None and same_but_for_grad(ours, theirs)
        ),
    ),
    Reason(
        "PyTorch reads the size of a dimension before it counts the dimensions, and says that it is out of range",
        kinds("error"),
        lambda call, ours, theirs: (
            _READS_SIZES.search(name(call)) is not None
            and re.match("Dimension (out of range|specified as)", message(theirs)) is not None
            and isinstance(ours, Raised)
            and "RuntimeError" in ours.bases
        ),
    ),
    Reason(
        "what is written where elements share memory depends on the order, which is each library's own",
        kinds("value"),
        lambda call, ours, theirs: _written_over(call) and same_form(call, ours, theirs),
    ),
    Reason(
        "PyTorch compares no shapes here, and reads beyond the smaller tensor",
        kinds("refused value"),
        lambda call, ours, theirs: (
            name(call).endswith("_log_softmax_backward_data") and "do not fit one another" in message(ours)
        ),
    ),
    Reason(
        "an operator written in place to a number gives the tensor that stood for it; PyTorch makes it a number again",
        kinds("value"),
        lambda call, ours, theirs: (
            name(call).startswith("torch.ops.aten.")
            and name(call).endswith("_")
            and isinstance(theirs, Returned)
            and isinstance(theirs.value, (bool, int, float))
        ),
    ),
    Reason(
        "the overloads and the tags of an operator are those that are declared for it",
        kinds("value"),
        lambda call, ours, theirs: name(call).endswith((".overloads", ".tags")),
    ),
    Reason(
        "PyTorch's sub of floats negates an integer alpha in 64 bits, in which -2**63 stays what it is",
        kinds("value"),
        lambda call, ours, theirs: (
            re.search(r"\.r?sub_?$", name(call)) is not None
            and "-2**63" in call.source()
            and same_magnitudes(ours, theirs)
        ),
    ),
    Reason(
        "PyTorch's vmap takes the first of a batch of none, to learn the dtype beside a number",
        kinds("accepted"),
        lambda call, ours, theirs: (
            name(call).startswith(("torch.func.", "torch.vmap"))
            and "index 0 out of range for tensor of size [0] at dimension 0" in message(theirs)
        ),
    ),
    Reason(
        "`==` of a tensor and an array compares their elements in both libraries, `!=` here as well",
        kinds("value"),
        lambda call, ours, theirs: (
            name(call).endswith(".__ne__")
            and "numpy." in call.source()
            and isinstance(ours, Returned)
            and isinstance(theirs, Returned)
            and isinstance(ours.value, dict)
            and ours.value.get("dtype") == "bool"
            and not isinstance(theirs.value, dict)  # NotImplemented
        ),
    ),
    Reason(
        "PyTorch's count of parts overflows 64 bits",
        kinds("accepted"),
        lambda call, ours, theirs: (
            "split expects split_size be non-negative, but got split_size=-1" in message(theirs)
            or (name(call).endswith("chunk") and "split_size can only be 0" in message(theirs))
        ),
    ),
    Reason(
        "PyTorch's count of bytes overflows 64 bits",
        kinds("value"),
        lambda call, ours, theirs: (
            name(call).endswith(".nbytes")
            and isinstance(ours, Returned)
            and isinstance(ours.value, int)
            and ours.value >= 2**63
        ),
    ),
    Reason(
        "NumPy's numbers are numbers: PyTorch reads (number, number) as the older form (alpha, other) for them alone",
        kinds("refused"),
        lambda call, ours, theirs: (
            re.search(r"\.(add|sub)_?$", name(call)) is not None
            and "numpy." in call.source()
            and "alpha" in message(ours)
        ),
    ),
    Reason(
        "two numbers beside a tensor of integers are (other, alpha): PyTorch reads those of which one is a tensor, too",
        kinds("accepted"),
        lambda call, ours, theirs: (
            re.search(r"\.(add|sub)_?$", name(call)) is not None
            and "argument alpha must not be a floating point number" in message(theirs)
            and len(call.arguments) == 3
        ),
    ),
    Reason(
        "PyTorch takes any number for a dtype where an operator is called, and cuts it to a byte",
        kinds("refused"),
        lambda call, ours, theirs: (
            name(call).startswith("torch.ops.")
            and re.search(r"must be torch\.dtype( or None)?, not int", message(ours)) is not None
        ),
    ),
    Reason(
        "a sample of a batch of none, for which no memory has room: PyTorch counts no bytes before it needs them",
        kinds("refused"),
        lambda call, ours, theirs: (
            name(call).endswith("vmap") and message(ours).startswith("Storage size calculation overflowed")
        ),
    ),
    Reason(
        "PyTorch records linearize with a mode that refuses subclasses; ours only computes",
        kinds("accepted"),
        lambda call, ours, theirs: (
            name(call) == "torch.func.linearize" and "torch.fx.experimental.proxy_tensor" in message(theirs)
        ),
    ),
    Reason(
        "PyTorch's gradgradcheck joins the inputs, a Size, with tensors, of which a Size is not made",
        kinds("error"),
        lambda call, ours, theirs: (
            name(call).endswith("gradgradcheck") and message(theirs).startswith("torch.Size() takes an iterable")
        ),
    ),
    Reason(
        "of a schema with a name PyTorch makes an operator of both names, and then finds none of the first",
        kinds("error"),
        lambda call, ours, theirs: (
            name(call) == "torch.library.custom_op"
            and message(ours).startswith("expected schema to look like")
            and re.search("does not exist|has no attribute", message(theirs)) is not None
        ),
    ),
    Reason(
        "PyTorch's rule for meta tensors refuses a number on the CPU as dividend, which its other operators take",
        kinds("accepted"),
        lambda call, ours, theirs: (
            "floor_divide" in name(call)
            and re.match(
                r"Expected divisor \(b\) to be on the same device \(cpu\) .* but it is found on meta", message(theirs)
            )
            is not None
        ),
    ),
    Reason(
        "functions of tensors are packets of overloads here, which opcheck takes, and built-in ones there",
        kinds("accepted error"),
        lambda call, ours, theirs: (
            name(call) == "torch.library.opcheck"
            and re.search(
                r"op must be instance of .* got <class '(builtin_function_or_method|method_descriptor)'>$",
                message(theirs),
            )
            is not None
        ),
    ),
    Reason(
        "PyTorch's rule for meta tensors compares how many classes a single row has with how many targets there are",
        kinds("accepted error"),
        lambda call, ours, theirs: (
            name(call).endswith(("nll_loss", "nll_loss_forward", "nll_loss_nd", "cross_entropy"))
            and "meta" in call.devices()
            and re.match(
                r"size mismatch \(got input: torch\.Size\(\[\d+\]\), target: torch\.Size\(\[\d+\]\)\)", message(theirs)
            )
            is not None
        ),
    ),
    Reason(
        "the largest of a window wholly in the padding is at no place: PyTorch's is outside the image, where its "
        "gradient is then written",
        kinds("refused"),
        lambda call, ours, theirs: "max_pool" in name(call) and "index out of range" in message(ours),
    ),
)
