"""Kernels and fake rules: arguments have types, kernels have devices, and every output is allocated."""

from __future__ import annotations

from dataclasses import replace

import opschema
from mtcodegen.check.scopes import OpScope
from mtcodegen.entries.composite import is_composite, needs_fake
from mtcodegen.entries.model import (
    Compute,
    FakeRule,
    Formula,
    KernelArg,
    KernelSpec,
    Launch,
    Mindspore,
    OpSpec,
)
from mtcodegen.entries.schemas import fresh_returns, is_tensor, tensor_arguments
from mtcodegen.expr import (
    BOOL,
    DEVICE,
    DTYPE,
    GENERATOR,
    INT,
    SHAPE,
    TENSOR,
    Call,
    Kind,
    Name,
    Purpose,
    Unread,
    ValueType,
    check_kernel_argument,
    output_names,
    value_type,
    walk,
)
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Related
from mtcodegen.findings.source import Span

__all__ = ["resolve_fakes", "resolve_kernels"]

_OPTIONAL_DTYPE = replace(DTYPE, optional=True)
_OPTIONAL_DEVICE = replace(DEVICE, optional=True)


_MOST_PASSED = 62  # the runtime places them in registers and a frame of words, two of them its own


def _is_launched(spec: OpSpec) -> bool:
    """Whether a kernel is launched: its outputs are allocated before, by the fake rule."""
    return any(isinstance(kernel.body, Launch) for kernel in spec.kernels)


def _has_meta_kernel(spec: OpSpec) -> bool:
    return any("meta" in kernel.devices for kernel in spec.kernels)


# ---------------------------------------------------------------- fake rules


def resolve_fakes(spec: OpSpec, scope: OpScope) -> OpSpec:
    """Check the fake rules, and that there is one for every new output."""
    if "fake" not in spec.place and not spec.fakes:
        if needs_fake(spec) and spec.fake_function is None:
            hint = "say what the output looks like, as in `fake: {like: x}`"
            scope.fault(Code.MT401, f"{spec.schema.qualname} has no `fake` rule", scope.name_span, hint)
        return spec
    # The file's default is another place; what its names are not is said of each entry that it holds for.
    span = spec.place.key("fake") if "fake" in spec.place else scope.name_span
    fresh = fresh_returns(spec.schema)
    if not fresh:
        scope.fault(Code.MT404, f"{spec.schema.qualname} makes no new output, so it needs no `fake`", span)
    elif _has_meta_kernel(spec):
        hint = "remove that kernel: a launched one needs the rule" if _is_launched(spec) else "remove one of them"
        scope.fault(Code.MT404, "a kernel for `meta` says what the rule says", span, hint)
    elif is_composite(spec) and spec.backward is None and not _is_launched(spec):
        scope.fault(Code.MT404, "a kernel for every device gives the shapes already", span, "remove `fake`")
    elif spec.fakes and len(spec.fakes) != len(fresh):
        rules = "1 rule" if len(spec.fakes) == 1 else f"{len(spec.fakes)} rules"
        outputs = "1 new output" if len(fresh) == 1 else f"{len(fresh)} new outputs"
        scope.fault(Code.MT402, f"{rules} for {outputs}", span, "give a list with one rule an output")
    elif spec.fakes:
        _check_outputs_are_tensors(spec, scope, span)
    return replace(spec, fakes=tuple(_resolve_fake(rule, scope) for rule in spec.fakes)) if spec.fakes else spec


def _check_outputs_are_tensors(spec: OpSpec, scope: OpScope, span: Span) -> None:
    for i in fresh_returns(spec.schema):
        ret = spec.schema.returns[i]
        if not is_tensor(ret.type):
            hint = "give `python: module:function`"
            scope.fault(Code.MT405, f"the output is {ret.type}, which `like` and `shape` cannot describe", span, hint)
        elif ret.alias is not None:
            hint = "give a kernel for every device by `compute`, or `fake: {python: module:function}`"
            scope.fault(Code.MT405, "the output is a view, which a rule that allocates cannot make", span, hint)


def _resolve_fake(rule: FakeRule, scope: OpScope) -> FakeRule:
    has_tensor = bool(tensor_arguments(scope.schema))
    place = rule.place
    if rule.like is not None and rule.shape is not None:
        message = "`like` and `shape` both give the output's shape"
        scope.fault(Code.MT406, message, place.key("shape"), "remove one of them")
    if "like" not in place and "shape" not in place and not has_tensor:
        scope.fault(Code.MT403, "the rule gives no `shape`, and there is no tensor to take it from", rule.place.span)
    if "like" in place and "device" in place:
        message = "`like` gives the device already"
        scope.fault(Code.MT406, message, place.key("device"), "give `shape`, `dtype` and `device`")
    if "shape" in place and not has_tensor:
        for name in ("dtype", "device"):
            if name not in place:
                message = f"the rule gives no `{name}`, and there is no tensor to take it from"
                scope.fault(Code.MT403, message, rule.place.span, f"add `{name}:`")
    if isinstance(rule.shape, tuple):
        shape: Formula | tuple[Formula, ...] | None = tuple(
            scope.formula(part, Purpose.FAKE, INT) for part in rule.shape
        )
    else:
        shape = scope.optional(rule.shape, Purpose.FAKE, SHAPE)
    return replace(
        rule,
        like=scope.optional(rule.like, Purpose.FAKE, TENSOR),
        shape=shape,
        dtype=scope.optional(rule.dtype, Purpose.FAKE, _OPTIONAL_DTYPE),
        device=scope.optional(rule.device, Purpose.FAKE, _OPTIONAL_DEVICE),
    )


# ---------------------------------------------------------------- kernels


def resolve_kernels(spec: OpSpec, scope: OpScope) -> OpSpec:
    """Check every kernel, and that each can be reached."""
    if not spec.kernels:
        if "kernels" not in spec.place:
            hint = "add `kernels:` with a kernel for every device it should run on"
            scope.fault(Code.MT301, f"{spec.schema.qualname} has no kernel", scope.name_span, hint)
        return spec
    _check_reachable(spec, scope)
    _check_fallback(spec, scope)
    _check_autocast(spec, scope)
    kernels = tuple([_resolve_kernel(kernel, scope) for kernel in spec.kernels])
    return spec if kernels == spec.kernels else replace(spec, kernels=kernels)


def _check_reachable(spec: OpSpec, scope: OpScope) -> None:
    settled: dict[str, KernelSpec] = {}  # by device, the kernel without `dtypes` and `when`, which takes every call
    for kernel in spec.kernels:
        for device in kernel.devices or ("",):
            if device in settled:
                where = f" on {device}" if device else ""
                first = Related(settled[device].place.span, "this kernel takes everything")
                hint = "give the one before it `dtypes` or `when`, or put that one last"
                scope.fault(Code.MT307, f"this kernel never runs{where}", kernel.place.span, hint, first)
            elif kernel.when is None and not kernel.dtypes:
                settled[device] = kernel


def _check_fallback(spec: OpSpec, scope: OpScope) -> None:
    """A fallback has a kernel for cpu to fall back to, and moves nothing but tensors."""
    if not spec.fallback:
        return
    span = spec.place.key("fallback")
    devices = {device for kernel in spec.kernels for device in kernel.devices}
    types = [opschema.base_of(argument.type).name for argument in spec.schema.arguments]
    views = [ret for ret in spec.schema.returns if ret.alias is not None and not ret.alias.write]
    if any(not kernel.devices for kernel in spec.kernels):
        scope.fault(Code.MT310, "a kernel runs on every device, so nothing falls back", span, "remove `fallback`")
    elif spec.fallback == "error":
        return
    elif "cpu" not in devices:
        scope.fault(
            Code.MT320, "there is no kernel for cpu to fall back to", span, "add one, or write `fallback: error`"
        )
    elif not tensor_arguments(spec.schema) or "Device" in types:
        hint = "write `fallback: error`"
        scope.fault(Code.MT325, "the device does not follow from a tensor argument alone", span, hint)
    elif views:
        scope.fault(
            Code.MT326, "the output is a view, which cannot be of a copy on cpu", span, "write `fallback: error`"
        )


def _check_autocast(spec: OpSpec, scope: OpScope) -> None:
    """Autocast has tensors to cast, and casts none that the operator writes to."""
    if not spec.autocast:
        return
    tensors = tensor_arguments(spec.schema)
    for cast in spec.autocast:
        span = cast.key.span
        if any(argument.is_write for argument in spec.schema.arguments):
            scope.fault(Code.MT327, "an operator that writes to an argument cannot cast it", span, "remove `autocast`")
        elif len(tensors) < (2 if cast.policy == "promote" else 1):
            wanted = "two tensor arguments" if cast.policy == "promote" else "a tensor argument"
            scope.fault(Code.MT311, f"`{cast.policy}` needs {wanted}", span)


def _resolve_kernel(kernel: KernelSpec, scope: OpScope) -> KernelSpec:
    if kernel.when is not None:
        kernel = replace(kernel, when=scope.formula(kernel.when, Purpose.WHEN, BOOL))
    body = kernel.body
    if isinstance(body, Launch):
        _check_device(kernel, scope, "symbol")
        return replace(kernel, body=_resolve_launch(kernel, body, scope))
    if isinstance(body, Mindspore):
        _check_device(kernel, scope, "mindspore")
        return replace(kernel, body=_resolve_mindspore(body, scope))
    if isinstance(body, Compute):
        return replace(kernel, body=_resolve_compute(kernel, body, scope))
    return kernel


def _check_device(kernel: KernelSpec, scope: OpScope, form: str) -> None:
    if not kernel.devices:
        hint = "add `device: npu`, or a list of devices"
        scope.fault(Code.MT305, "the kernel has no `device`", kernel.place.key(form), hint)


def _resolve_compute(kernel: KernelSpec, body: Compute, scope: OpScope) -> Compute:
    returns = scope.schema.returns
    span = kernel.place.key("compute")
    if len(body.formulas) == 1:
        types = [value_type(ret.type) for ret in returns]
        expected = types[0] if len(types) == 1 else ValueType.tuple_of(types)
        return Compute((scope.formula(body.formulas[0], Purpose.COMPUTE, expected if types else None),))
    if len(body.formulas) != len(returns):
        scope.fault(Code.MT313, f"{len(body.formulas)} expressions for {len(returns)} outputs", span)
        return body
    pairs = zip(body.formulas, returns, strict=True)
    return Compute(tuple(scope.formula(item, Purpose.COMPUTE, value_type(ret.type)) for item, ret in pairs))


def _resolve_mindspore(body: Mindspore, scope: OpScope) -> Mindspore:
    args = None if body.args is None else tuple(scope.formula(arg, Purpose.LAUNCH) for arg in body.args)
    attrs = {name: scope.formula(value, Purpose.CHECK) for name, value in body.attrs.items()}
    return replace(body, args=args, attrs=attrs)


# ---------------------------------------------------------------- launched kernels


def _resolve_launch(kernel: KernelSpec, body: Launch, scope: OpScope) -> Launch:
    span = kernel.place.key("symbol")
    if body.library is None and not body.sources:
        hint = "add `library:` or `source:` to it, or `library:` to the file"
        scope.fault(Code.MT303, f"the kernel `{body.symbol}` has neither `library` nor `source`", span, hint)
    _check_block_dim(kernel, body, scope)
    _check_outputs(body, scope, span)
    _check_written(body, scope, span)
    _check_use(kernel, body, scope)
    if len(body.args) > _MOST_PASSED:
        message = (
            f"the kernel `{body.symbol}` gets {len(body.args)} arguments, and a launch passes at most {_MOST_PASSED}"
        )
        hint = "pass scalars in one struct: `tiling`"
        scope.fault(Code.MT329, message, body.args[_MOST_PASSED].value.text.span, hint)
    return replace(
        body,
        args=tuple(_resolve_arg(arg, scope) for arg in body.args),
        block_dim=scope.optional(body.block_dim, Purpose.LAUNCH, INT),
        workspace=scope.optional(body.workspace, Purpose.LAUNCH, INT),
        tiling={name: _resolve_field(name, arg, scope) for name, arg in body.tiling.items()},
    )


def _check_block_dim(kernel: KernelSpec, body: Launch, scope: OpScope) -> None:
    given = "block_dim" in kernel.place
    if body.abi == "ascendc" and not given:
        span = kernel.place.key("symbol")
        hint = "add `block_dim:`, as in `block_dim: min(ceil_div(x.numel(), 2048), 40)`"
        scope.fault(
            Code.MT304, f"the kernel `{body.symbol}` has no `block_dim`, which the abi `ascendc` needs", span, hint
        )
    if body.abi == "c" and given:
        span = kernel.place.key("block_dim")
        scope.fault(Code.MT317, "the abi `c` has no `block_dim`", span, "remove it, or say `abi: ascendc`")


def _check_outputs(body: Launch, scope: OpScope, span: Span) -> None:
    """A launched kernel writes to memory that is allocated before, so that a fake rule has to give every output."""
    spec = scope.spec
    for i in fresh_returns(spec.schema):
        ret = spec.schema.returns[i]
        if ret.alias is not None:
            scope.fault(Code.MT308, "the output is a view, which a launched kernel cannot make", span, "use `compute`")
            return
        if not is_tensor(ret.type):
            scope.fault(
                Code.MT308, f"the output is {ret.type}, which a launched kernel cannot return", span, "use `python`"
            )
            return
    ruled = "fake" in spec.place or spec.fake_function is not None  # the function may be the file's
    if fresh_returns(spec.schema) and not spec.fakes and (ruled or not needs_fake(spec)):
        hint = "give `fake` as `like:` or `shape:`"
        hint += ", in place of the kernel for `meta`" if _has_meta_kernel(spec) else ""
        scope.fault(Code.MT314, "nothing says how to allocate the outputs of this kernel", span, hint)


def _check_written(body: Launch, scope: OpScope, span: Span) -> None:
    """Every output is among the arguments, and none as a contiguous copy, in which what is written would be lost."""
    passed = {node.id for arg in body.args for node in walk(arg.value.expr) if isinstance(node, Name)}
    unread = any(isinstance(arg.value.expr, Unread) for arg in body.args)
    for i in fresh_returns(scope.schema) if not unread else ():
        names = [name for name, position in output_names(scope.schema).items() if position == i]
        if passed.isdisjoint(names):
            hint = f"add `{names[0]}` where the kernel takes it"
            scope.fault(
                Code.MT315, f"nothing writes to the output `{names[0]}`: it is not among the `args`", span, hint
            )
    written = {argument.name for argument in scope.schema.arguments if argument.is_write}
    for arg in body.args if written else ():
        for node in walk(arg.value.expr):
            match node:
                case Call(function=Name(id="contiguous"), arguments=(Name(id=name),)) if name in written:
                    message = f"`contiguous({name})` may be a copy, and what is written to that is lost"
                    span = arg.value.text.locate(node.offset, node.length)
                    scope.fault(Code.MT316, message, span, f"pass `{name}`, or `desc({name})`")


def _check_use(kernel: KernelSpec, body: Launch, scope: OpScope) -> None:
    """``workspace`` and ``tiling`` are declared where they are used, and used where they are declared."""
    used = {node.id for arg in body.args for node in walk(arg.value.expr) if isinstance(node, Name)}
    unread = any(isinstance(arg.value.expr, Unread) for arg in body.args)
    arguments = {argument.name for argument in scope.schema.arguments}
    for name in ("workspace", "tiling"):
        declared = name in kernel.place
        if declared and name not in used and not unread:
            span = kernel.place.key(name)
            scope.fault(
                Code.MT318, f"`{name}` is not among the `args`", span, f"add `{name}` where the kernel takes it"
            )
        elif name in used and not declared and name not in arguments:
            arg = next(arg for arg in body.args if any(node == Name(name) for node in walk(arg.value.expr)))
            hint = f"add `{name}:` to the kernel"
            scope.fault(Code.MT309, f"the kernel declares no `{name}`", arg.value.text.span, hint)


def _resolve_arg(arg: KernelArg, scope: OpScope) -> KernelArg:
    formula = arg.value
    match arg.type:
        case "ptr":
            type_, errors = check_kernel_argument(formula.expr, scope.scope(Purpose.LAUNCH))
            checked = scope.analyze(formula, Purpose.LAUNCH)
            resolved = scope.note(formula, replace(checked, errors=tuple(errors)))
            if type_.required == GENERATOR:
                return KernelArg(resolved, "rng")
            return KernelArg(resolved, "host" if type_.kind is Kind.POINTER and _is_name(formula, "tiling") else "ptr")
        case "desc":
            return KernelArg(scope.formula(formula, Purpose.LAUNCH, replace(TENSOR, optional=True)), "desc")
        case "upload":
            if not _is_name(formula, "tiling"):
                scope.fault(Code.MT319, "only `tiling` can be uploaded", formula.text.span)
            return KernelArg(scope.formula(formula, Purpose.LAUNCH), "upload")
    return KernelArg(scope.formula(formula, Purpose.LAUNCH), arg.type)


def _is_name(formula: Formula, name: str) -> bool:
    return isinstance(formula.expr, Name) and formula.expr.id == name


def _resolve_field(name: str, arg: KernelArg, scope: OpScope) -> KernelArg:
    if arg.type in ("ptr", "desc", "upload") and not isinstance(arg.value.expr, Unread):
        text = arg.value.text
        hint = f"write a C type, as in `{name}: u32({text.value[:40]})`"
        scope.fault(Code.MT215, f"the tiling field `{name}` has no C type", text.span, hint)
        return arg
    return KernelArg(scope.formula(arg.value, Purpose.LAUNCH), arg.type)
