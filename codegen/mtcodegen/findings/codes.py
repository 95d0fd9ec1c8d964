"""Every code of a diagnostic, with what it means: `explain`, SARIF and the documentation are made of this one table.

A code is one fault. Codes are stable: none is ever used again for something else. By hundreds: 1 a file and its
structure, 2 expressions, 3 kernels, 4 fake rules and gradients, 5 output, 6 other systems, 7 `breaking`, 8 `lint`,
9 `fmt`. `examples` has a file for each that a file alone can cause.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["Code", "Severity"]

_SAVED = "Programs that were saved with the old schema, and callers written for it,"


class Severity(Enum):
    """How much a finding matters: an error keeps everything from being written."""

    ERROR = "error"
    WARNING = "warning"

    def __str__(self) -> str:
        return self.value


class Code(Enum):
    """What is wrong, in short, and what to know about it; ``fix`` is what ``lint --fix`` does, "" where nothing."""

    def __init__(self, title: str, text: str, fix: str = "") -> None:
        self.title = title
        self.text = text
        self.fix = fix

    def __str__(self) -> str:
        return self.name

    MT100 = "more findings than are shown", "Only the first 200 are. Mend those, and run the tool again."
    MT101 = (
        "a file that cannot be read as YAML",
        "The file is missing or unreadable, is not UTF-8, has a character that YAML does not allow, or breaks YAML's "
        "grammar. A value that contains `: ` or ` #`, or that starts with one of `[ { & * ! | > % @`, must be quoted.",
    )
    MT102 = "a key that is given twice", "One of the two would silently win. The hint says where the first one stands."
    MT103 = (
        "a file that is not one list of operators",
        "A file holds one document: a list of operators, or a mapping with `ops`.",
    )
    MT104 = (
        "an anchor, an alias or a tag",
        "They let a small file stand for a huge one, or for objects of any type. Write values out; their types follow "
        "from the keys.",
    )
    MT105 = "nesting without end", "Lists and mappings may be 32 levels deep; the language needs seven."
    MT106 = "a key that is not a name", "Keys are names: a list or a mapping in the place of a key means nothing here."
    MT110 = "an unknown key", "Keys are never ignored: a misspelt one would change what the operator means."
    MT111 = (
        "a key that is missing",
        "An operator needs `func`; a kernel needs one of `symbol`, `python`, `mindspore` and `compute`.",
    )
    MT112 = "a value of the wrong type", "For instance a mapping where a list belongs, or a number where a string does."
    MT113 = (
        "a value that is not one of those allowed",
        "Devices are cpu, npu, cuda, mps and meta; dtypes are torch's names; the abi is `ascendc` or `c`.",
    )
    MT114 = (
        "a value that is malformed",
        "Python functions are written `module:function`; names have letters, digits and `_`; a tolerance is not "
        "negative.",
    )
    MT115 = (
        "two keys that exclude each other",
        "A kernel is one thing: launched, Python, MindSpore or composed, from a library or from sources.",
    )
    MT116 = (
        "a value that is empty",
        "A list, a mapping or a text that must say something says nothing. A key that is not needed is left out.",
    )
    MT120 = (
        "an operator that is declared twice",
        "Within one file or in two files of one run. Overloads have different names after the dot.",
    )
    MT121 = (
        "an operator without a namespace",
        "Operators live in `torch.ops.<namespace>`. The file's `namespace` is the default of its operators.",
    )
    MT122 = (
        "a name that is taken",
        "Operators are attributes of Python objects: `torch.ops.<namespace>.<name>.<overload>`. One that is called "
        "`__class__`, say, or an overload that is called `overloads`, could not be set or found, and the namespaces "
        "`_` and `prim` are the runtime's own.",
    )
    MT130 = (
        "a variant that cannot be made",
        "Of a functional operator `autogen` makes the out variant (`name.out`, or `name.<overload>_out`) and the "
        "in-place one (`name_`, where the first argument is a tensor and the only output); of an in-place one the "
        "functional (`name`) and the out variant; of one that writes to other arguments `name_functional` and the out "
        "variant.",
    )
    MT131 = (
        "a method that no tensor can have",
        "A method is called on the argument that is named `self`, or else on the first one: that is one tensor. What "
        "tensors have under special names, such as `__and__`, is the runtime's own.",
    )
    MT132 = (
        "more arguments than a call can have",
        "A call binds at most 63 arguments. Pass several as one list, such as `Tensor[]` or `int[]`.",
    )
    MT140 = (
        "an example without a value for an argument",
        "An example calls the operator: each argument without a default has a value.",
    )
    MT141 = (
        "an example with a value for no argument",
        "Keys of an example's `args` are arguments of the operator.",
    )
    MT142 = (
        "a number of expected values that is not that of the outputs",
        "`expect` has one value, or, where the operator has several outputs, a list with a value for each.",
    )
    MT143 = (
        "a list in an example where no list can be",
        "Nested lists of numbers are tensors, and a list of values is a list. Any other value is an expression.",
    )
    MT144 = (
        "a list in an example that is no tensor",
        "A tensor is an expression of operators, such as `randn([2, 3])`, or nested lists of numbers, all of one "
        "length at each level.",
    )
    MT150 = (
        "a schema that does not parse",
        "Schemas are written in the grammar of PyTorch's native_functions.yaml: `name.overload(Tensor self, int[] "
        "dim=[0], *, Scalar? alpha=None) -> Tensor`.",
    )
    MT200 = (
        "an expression does not parse",
        "Expressions are written as in Python: names, numbers, strings, lists, arithmetic, comparisons, `and or not`, "
        "`a if c else b`, indexing, attributes and calls. Nothing else is part of the language.",
    )
    MT201 = (
        "a character or a sign that the language does not have",
        "Expressions are written with the signs of Python: `and`, `or` and `not` for `&&`, `||` and `!`, `**` for `^`, "
        "`a if c else b` for `c ? a : b`, and `ns.name` for `ns::name`.",
    )
    MT202 = (
        "an expression is nested too deeply",
        "No sensible formula needs it. Declare an operator for a part of the expression and call that.",
    )
    MT204 = (
        "an unknown name",
        "An expression reads the arguments of its operator. Outputs, gradients (`grad`, `grads[i]`), and `workspace`, "
        "`tiling` and `stream` are names only where they exist: outputs in kernel arguments and formulas, gradients "
        "in `backward`, tangents (`x_t`) in `forward`, the others in kernel arguments.",
    )
    MT205 = (
        "an unknown attribute or method",
        "Tensors have `shape`, `dtype`, `device`, `ndim`, `itemsize`, `nbytes`, `requires_grad`, `numel()`, `dim()`, "
        "`size(i)`, `stride(i)` and others; where values may be computed they also have the declared operators as "
        "methods. Dtypes have `itemsize` and `is_floating_point`.",
    )
    MT206 = (
        "an unknown function or operator",
        "Functions are the fixed helpers of the language (`ceil_div`, `min`, `broadcast_shapes`, ...). Operators are "
        "those declared in the YAML files of this run and the built-in ones, and can be called only in `compute`, "
        "`backward` and `forward`.",
    )
    MT207 = (
        "a call with another number of arguments",
        "A function, a method or an operator takes a certain number of arguments, or at least or at most so many.",
    )
    MT208 = "an argument of the wrong type", "A call passes a value that the function or operator cannot take."
    MT209 = (
        "operands that do not go together",
        "Arithmetic takes numbers, or tensors where values may be computed; lists can be joined and repeated; only "
        "values of one kind can be compared; `and`, `or` and `not` take true or false.",
    )
    MT210 = (
        "an expression of the wrong type",
        "The place where the expression stands needs another type: a condition is true or false, a block dimension is "
        "an integer, a shape is a list of integers, a gradient is a tensor.",
    )
    MT211 = (
        "something that is not allowed in this place",
        "Preconditions, shape rules and launch arguments are evaluated on the host, before the operator runs, and see "
        "only the properties of tensors. Operators can be called in `compute`, `backward` and `forward`, and C types "
        "such as `f32(...)` belong to launch arguments.",
    )
    MT212 = (
        "a value that may be None",
        "The argument is optional. Test it first: `bias is not None and ...`, or `... if bias is not None else ...`.",
    )
    MT213 = (
        "the values of a tensor, where only its properties are known",
        "A precondition, a shape rule or a launch argument cannot read the data of a tensor: it would wait for the "
        "device. Use `x.shape`, `x.dtype`, `x.numel()` and the like.",
    )
    MT214 = (
        "an index that does not fit",
        "An index is an integer or a slice of integers. The index of `grads` and of an operator's several results is "
        "a literal number, within range.",
    )
    MT215 = (
        "a kernel argument without a C type",
        "A kernel is called with exactly the bytes it expects, so each scalar says its C type: `f32(scale)`, "
        "`u32(x.numel())`, `bool(flag)`.",
    )
    MT216 = (
        "a formula reads a value that the operator overwrites",
        "A mutated argument has its new value when the gradient is computed. Use the output in the formula instead.",
    )
    MT217 = (
        "an operator that is computed by calling itself",
        "`compute` is what a call runs: it calls other operators, or it never ends.",
    )
    MT218 = (
        "a function that is not called",
        "Functions, methods and operators are no values: write the parentheses, as in `x.numel()`.",
    )
    MT219 = (
        "a call of something that is not a function",
        "Arguments, numbers and properties are values: write `x.shape`, without parentheses.",
    )
    MT220 = (
        "an argument that no kernel can take",
        "A kernel takes pointers and scalars: tensors, numbers and truth values that are always there.",
    )
    MT221 = (
        "a C type inside of a kernel argument",
        "The type is declared once, around all of the argument: `u32(1 if x.dim() > 0 else 2)`.",
    )
    MT222 = (
        "a call without an argument that must be given",
        "What has no default in the operator's schema is given in every call, by position or by name.",
    )
    MT223 = (
        "an argument by a name that there is not",
        "Names are those of the operator's schema. Helpers such as `ceil_div`, C types and properties take arguments "
        "by position only.",
    )
    MT224 = "an argument that is given twice", "It is given by position or by name, and by name once."
    MT225 = (
        "a number that is malformed",
        "Numbers are decimal or hexadecimal, without a suffix and, in our own files, without zeros in front.",
    )
    MT226 = "a number that is too large", "Integers fit in 64 bits, and other numbers in a float of 64 bits."
    MT227 = (
        "a string or a comment that does not end",
        "Strings are quoted once, with ' or \", and end on the same line; a comment of C++ ends with `*/`.",
    )
    MT228 = (
        "an escape that strings do not have",
        "A string has Python's escapes, such as `\\n`, `\\t`, `\\\\` and `\\x41`.",
    )
    MT229 = (
        "a call that no overload takes",
        "An operator has several schemas, and none of them takes arguments of this number, names and types.",
    )
    MT230 = (
        "a number that its C type does not have",
        "A kernel would get other bytes than are meant: `u8` goes to 255, `i32` to 2147483647, and `u32` has no sign.",
    )
    MT301 = "an operator without a kernel", "Nothing would run it."
    MT303 = (
        "a launched kernel without a library",
        "A `symbol` is looked up in a `library`, the kernel's or the file's, or in what its `source` is built to.",
    )
    MT304 = (
        "a launch without a block_dim",
        "With the abi `ascendc`, the default on npu, a kernel runs in `block_dim` blocks.",
    )
    MT305 = (
        "a kernel without a device",
        "Python and composed kernels may run everywhere; a launched kernel and a primitive name theirs.",
    )
    MT306 = (
        "a key of another kind of kernel",
        "`library`, `source`, `symbol`, `abi`, `block_dim`, `args`, `workspace`, `tiling` and what a `source` is built "
        "with, `include`, `defines` and `flags`, describe a launch.",
    )
    MT307 = (
        "a kernel that never runs",
        "Kernels are tried in order. One without `dtypes` and `when` takes everything, and nothing behind it runs.",
    )
    MT308 = (
        "an output that a launched kernel cannot make",
        "A launched kernel writes to memory that was allocated for it: new tensors of a known shape. Views, lists and "
        "numbers come from `compute` or `python`.",
    )
    MT309 = (
        "a workspace or tiling that is not declared",
        "`workspace` and `tiling` stand among the `args` of a kernel that declares them: `workspace: 1024`, or "
        "`tiling:` with its fields.",
    )
    MT310 = "a fallback that does nothing", "A kernel that runs on every device leaves no device to fall back from."
    MT311 = (
        "an `autocast` that casts nothing",
        "Inside `torch.autocast` the operator's floating-point tensors are cast to a dtype, or with `promote` to the "
        "widest of theirs, if there are two.",
    )
    MT312 = (
        "an update of something that is not an argument",
        "A captured graph replays its launches on the memory that it was captured with. `update` names the arguments "
        "whose values the host reads at a launch, and that may change from one replay to the next.",
    )
    MT313 = (
        "a number of expressions that is not that of the outputs",
        "A list in `compute` has one expression for every output. One expression alone may be a call that returns "
        "them all.",
    )
    MT314 = (
        "outputs that nothing allocates",
        "What a launched kernel writes to is allocated by the `fake` rule, as `like:` or `shape:`. A function, or a "
        "kernel for `meta`, makes outputs of its own.",
    )
    MT315 = (
        "an output that nothing writes to",
        "Every output of a launched kernel is among its `args`, where the kernel takes it.",
    )
    MT316 = (
        "a write that would be lost",
        "An argument that is written to is passed as it is, or by `desc`: `contiguous(x)` may be a copy of it.",
    )
    MT317 = "a block_dim that does nothing", "With the abi `c` a launch is a plain call, which has no blocks."
    MT318 = (
        "a workspace or tiling that is not passed",
        "What a kernel declares stands among its `args`, where the kernel takes it.",
    )
    MT319 = (
        "an upload of something else than tiling",
        "`upload(tiling)` copies the packed struct to the device. Tensors are there already, and scalars have C types.",
    )
    MT320 = (
        "a fallback to a device without a kernel",
        "`fallback: cpu` copies tensors to cpu, runs the kernel there, and copies results back.",
    )
    MT321 = (
        "an argument that cannot be updated in a captured graph",
        "What the host reads at a launch can: numbers, lists of numbers, tensors on the host.",
    )
    MT322 = (
        "an update that would change an output's memory",
        "A captured graph keeps the memory of its outputs, so that no argument that decides their shape or dtype can "
        "change from one replay to the next.",
    )
    MT323 = "an argument that is updated twice", "`update` names each argument once."
    MT324 = (
        "a `graph` without a launch to capture",
        "Graphs are captured on npu, so that the operator needs a kernel for it.",
    )
    MT325 = (
        "a fallback that does not know the device to come back to",
        "`fallback: cpu` copies results back to the device of the tensor arguments. An operator without one, or with "
        "a device among its arguments, needs a kernel for each device.",
    )
    MT326 = (
        "a fallback whose result is a view",
        "`fallback: cpu` runs on copies of the tensors: a view would be one of a copy.",
    )
    MT327 = (
        "an `autocast` of what an operator writes to",
        "A tensor that is cast is another one: what the kernel writes to that would be lost.",
    )
    MT328 = (
        "a source that is not there",
        "A kernel is built of its `source` on first use. A path is relative to the YAML file, wherever the command "
        "runs.",
    )
    MT329 = (
        "more arguments than a launch can pass",
        "A launched kernel gets at most 62 arguments. Scalars can go in one struct, `tiling`.",
    )
    MT330 = (
        "a tiling that is not what the host declares",
        "`tiling: {from:, class:, fields:}` takes a struct from an operator project's host side. `class` is one that "
        "`BEGIN_TILING_DATA_DEF` declares there, and `fields` has a value for each of its fields, of its C type.",
    )
    MT331 = (
        "a graph that captures an overload which does not fit",
        "`prepare: out` captures the operator's overload `out` in its place, with the outputs allocated before: there "
        "has to be one, and what is updated has to be an argument of it.",
    )
    MT401 = (
        "an operator without a fake rule",
        "It says what the outputs look like: fake tensors need it, and launched kernels' outputs are allocated by it.",
    )
    MT402 = (
        "a number of fake rules that is not that of the outputs",
        "There is one rule for every new output; an output that is an argument written to has none.",
    )
    MT403 = (
        "a fake rule that leaves something open",
        "Where there is no tensor argument, `shape`, `dtype` and `device` must all be given.",
    )
    MT404 = (
        "a fake rule that is not needed",
        "Mutated arguments are returned as they are; a kernel for `meta`, or one that is composed for every device, "
        "gives the shapes of the outputs already. What a launched kernel writes to needs a rule all the same.",
    )
    MT405 = (
        "an output that no rule can allocate",
        "A rule describes a new tensor. Lists and numbers come from `python: module:function`; a view of an argument "
        "comes from a kernel for every device, or from such a function.",
    )
    MT406 = (
        "keys of a fake rule that exclude each other",
        "`like` gives shape, dtype and device, `dtype` may stand beside it; `shape` goes with `dtype` and `device`; a "
        "`python` function makes all outputs alone.",
    )
    MT410 = (
        "an argument without a gradient",
        "Every tensor argument has a formula, or is said to be `not_differentiable`.",
    )
    MT411 = "a gradient for something that has none", "Only tensors have gradients."
    MT412 = (
        "a gradient for something that is not an argument",
        "Keys of `backward` are arguments of the operator, several of them with commas between.",
    )
    MT413 = "two gradients for one argument", "It stands in the keys of two formulas."
    MT414 = (
        "an operator without gradients",
        "Backward through it would fail in training. Say what is meant: formulas; `not_differentiable`, so that no "
        "gradient flows through it; or `not_implemented`, so that backward raises.",
    )
    MT415 = (
        "something beside a hand-written backward",
        "`function` returns all gradients, with `setup_context` saving what it needs; there is nothing else to say.",
    )
    MT416 = (
        "a gradient of an out variant",
        "As in PyTorch, functions with `out=` arguments do not support autograd, backward or forward.",
    )
    MT417 = (
        "a formula that reads a gradient which there is not",
        "An output that `output_differentiability` says `false` of never requires grad, and has no gradient.",
    )
    MT418 = (
        "a forward-mode formula in `backward`",
        "PyTorch's derivatives.yaml has gradients of arguments and tangents of outputs side by side. Here gradients "
        "stand in `backward`, and tangents in `forward`.",
    )
    MT420 = (
        "a tangent of something that is not an output",
        "Keys of `forward` are the operator's differentiable outputs: `result`, `result0` and so on, or their names.",
    )
    MT421 = (
        "an output without a tangent",
        "Where there is a `forward`, every differentiable output has a formula, or is said to be `not_differentiable` "
        "or `not_implemented`.",
    )
    MT422 = (
        "a tangent that depends on no tangent",
        "The tangent of an output is linear in those of the arguments: `x_t` is that of `x`, and zeros where there is "
        "none.",
    )
    MT423 = (
        "an `auto_element_wise` that cannot be made",
        "Where each element of the output depends on the same element of the arguments, the gradients' formulas on "
        "the tangents give the tangent. It needs one output, and in `backward` one formula for each argument.",
    )
    MT424 = (
        "an `output_differentiability` for another number of outputs",
        "It has `true` or `false` for each output, in order.",
    )
    MT425 = (
        "an `output_differentiability` that changes nothing",
        "It says which outputs have no gradient, to the formulas of `backward`. Without a `false`, or without "
        "formulas, it says nothing.",
    )
    MT426 = (
        "an `output_differentiability` without a differentiable output",
        "`backward: not_differentiable` says the same of the whole operator.",
    )
    MT427 = (
        "a tangent of an output that has none",
        "Only tensors have tangents, and of those not the ones that `output_differentiability` says `false` of.",
    )
    MT428 = (
        "a `forward` that nothing asks for",
        "Where no argument or no output is differentiable, or gradients go through the operators that this one is made "
        "of, nothing asks for the tangents.",
    )
    MT501 = (
        "a file name that cannot be a module's",
        "The module is named after the YAML file: letters, digits and `_`, and no keyword.",
    )
    MT502 = (
        "two files that make one module",
        "Two YAML files of the same name, or two jobs of pyproject.toml, would be written to one folder.",
    )
    MT503 = "a file that cannot be written", "The output folder or a file in it is not writable."
    MT504 = (
        "a file that is not the generator's",
        "A file in the output folder has the name of a module but not the header of a generated file. Files written "
        "by hand are never overwritten.",
    )
    MT510 = "output that is not there", "`check` wants every module to be generated."
    MT511 = (
        "output that is not up to date",
        "The file differs from what its YAML file says: the YAML file, a template or the file itself was changed.",
    )
    MT512 = (
        "output that nothing makes",
        "A Python file in the output folder comes from no YAML file: the YAML file was removed or renamed, or the "
        "file was written by hand and belongs elsewhere.",
    )
    MT601 = (
        "an entry for an operator that is not declared",
        "The `name` of an entry of derivatives.yaml is the whole schema of an operator in native_functions.yaml, as "
        "it is written there; `structured_delegate` and the like name operators of the same file.",
    )
    MT602 = (
        "one value for several gradients",
        "The formula of several arguments gives as many gradients: it calls a function that returns a tuple. The "
        "value here is one tensor, or has another number of elements.",
    )
    MT604 = (
        "gradients of outputs named in two ways",
        "The formulas of an entry use `grad`, `grads[i]` or `grad_<return>`, and not two of them: `grad` is the "
        "gradient of the only differentiable output.",
    )
    MT605 = (
        "a forward-mode formula that does not fit",
        "A forward-mode formula reads the tangent `x_t` and the primal `x_p` of a differentiable argument.",
    )
    MT606 = (
        "a structured kernel that does not fit",
        "A structured kernel writes to `out`, and `structured_delegate` names an operator that has one.",
    )
    MT607 = (
        "a selection that matches no operator",
        "`--select` has names of operators, `name.overload`, or patterns such as `add*`, with commas between.",
    )
    MT608 = (
        "a name that is not an argument of the operator",
        "`cpp_no_default_args`, `precomputed` and `arg_meta` name arguments of the entry's own schema.",
    )
    MT609 = (
        "a forward-mode marker that does not fit",
        "`auto_element_wise` needs one differentiable argument with a formula and one output, `auto_linear` one "
        "output.",
    )
    MT610 = (
        "something that cannot be imported",
        "The file says it in PyTorch's terms (a C++ kernel, a helper written in C++, a key of its code generator), "
        "and our YAML has no form of it. It stands as a comment beside the imported entry.",
    )
    MT620 = (
        "something that PyTorch has no place for",
        "With `--target torch` operators are registered with PyTorch itself, where kernels of MindSpore and of NPUs, "
        "gradients of operators that write to an argument or return a view, forward-mode formulas of views, graph "
        "updates and casts on npu cannot be. They are left out.",
    )
    MT621 = (
        "an operator that PyTorch cannot register",
        "With `--target torch` an operator needs a kernel that runs there, a namespace that is not PyTorch's own, no "
        "keyword-only tensor that has a gradient, and names that PyTorch's schema language does not reserve.",
    )
    MT622 = (
        "something that MindSpore has no place for",
        "With `--target mindspore` operators are cells of MindSpore, whose tensors do not change in place. Operators "
        "that write to an argument or return a view are left out, with what calls them; so are casts, kernels for "
        "other devices, and on npu all but libraries of AscendC kernels: a source is built into one first.",
    )
    MT623 = (
        "an operator that MindSpore cannot run",
        "With `--target mindspore` an operator needs a kernel that runs there, and a namespace other than `aten`, "
        "which stands for MindSpore's own operators.",
    )
    MT701 = (
        "an operator that is gone",
        f"{_SAVED} find no operator of this name and overload.",
    )
    MT702 = (
        "an argument that is gone",
        f"{_SAVED} still pass it. A renamed argument is one gone and one new.",
    )
    MT703 = (
        "a new argument that must be given",
        f"{_SAVED} do not pass it. An argument added at the end with a default breaks nothing.",
    )
    MT704 = (
        "a default that has changed",
        f"{_SAVED} leave it out and get another result without an error; without a default any more, they fail.",
    )
    MT705 = (
        "an argument's type that has changed",
        f"{_SAVED} pass values that the new type does not take. A type that takes more (`int` to `int?`) is fine.",
    )
    MT706 = (
        "an argument that has moved",
        f"{_SAVED} pass arguments by position. Saved programs do so for keyword-only ones too, so that their order "
        "matters, and a new argument goes behind the old ones.",
    )
    MT707 = (
        "an argument that has another name",
        f"{_SAVED} may pass it by its old name.",
    )
    MT708 = (
        "an argument that is keyword-only now",
        f"{_SAVED} pass it by position. The other way round breaks nothing.",
    )
    MT709 = (
        "returns that have changed",
        f"{_SAVED} unpack the old number of values, of the old types, by the old names.",
    )
    MT710 = (
        "aliasing that has changed",
        "Compilers and autograd rely on which arguments are written to and which outputs are views: what was right "
        "with the old annotations is silently wrong with the new ones.",
    )
    MT711 = (
        "the old files cannot be read",
        "The revision, or the file at it, cannot be read, so that nothing can be said about what broke.",
    )
    MT801 = "an operator without `doc`", "`help()`, editors and the documentation show `doc`."
    MT802 = (
        "a key that gives the default",
        "The entry means the same without it, and what stands there should matter.",
        "removes the key",
    )
    MT803 = (
        "a condition that always holds",
        "`x.shape == x.shape`, `x.numel() >= 0`: it checks nothing, and was probably meant to compare something else.",
        "removes it",
    )
    MT804 = (
        "a condition that never holds",
        "Every call fails, or the kernel is never chosen: one side is probably misspelt.",
    )
    MT805 = (
        "a kernel that is never run",
        "The first kernel that fits the device, `dtypes` and `when` wins, and an earlier one takes all that this one "
        "would.",
        "removes the kernel",
    )
    MT806 = (
        "an argument that nothing reads",
        "No kernel, shape rule, check or gradient reads it: callers set it to no effect, and a kernel may lack it.",
    )
    MT807 = (
        "a formula that saves more than it needs",
        "A tensor is read only for its shape or dtype, through an operator such as `view_as` or `zeros_like`; given "
        "the shape itself, only that is saved, and the tensor's memory is free until the gradient runs.",
        "reads the shape instead, where there is an operator that takes one",
    )
    MT808 = "a check that is made twice", "The second one can never fail.", "removes the second"
    MT809 = (
        "an item that is given twice",
        "A device, dtype, tag or variant is in a list twice, which means the same as once.",
        "removes the second",
    )
    MT901 = "a file that is not formatted", "`mtcodegen fmt` writes it as it should be."
    MT902 = (
        "a file that cannot be formatted",
        "The file is unusual enough YAML that formatting it would change what it says; it is left as it is.",
    )
