"""Kernels, preconditions and fake rules as Python functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from mtcodegen.check.kernels import is_composite, runs_on_meta
from mtcodegen.entries.model import (
    Check,
    Compute,
    FakeRule,
    Formula,
    KernelArg,
    KernelSpec,
    Launch,
    Mindspore,
    OpSpec,
    PythonFunction,
    Variant,
    place_of,
)
from mtcodegen.entries.schemas import aliased_argument, fresh_returns, tensor_arguments
from mtcodegen.expr import Call, Expr, Name, Operator, output_names, walk
from mtcodegen.expr.nodes import Attribute, BoolOp, Conditional
from mtcodegen.pycode.expressions import by_name, to_python
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import Names, Parameters, return_annotation
from mtcodegen.targets.plan.conditions import clauses, expectation, negated, operands, written
from mtcodegen.targets.plan.function import Function
from mtcodegen.targets.plan.variants import autocast_statements, fallback_statements, variant_statements

__all__ = ["OpPlan", "is_implicit", "leaves_checks", "plan_kernels"]

_KEYS = {"cpu": "CPU", "npu": "NPU", "cuda": "CUDA", "mps": "MPS", "meta": "Meta"}


class OpPlan:
    """An operator with the names that it has in its module: ``name`` is ``name.overload``, as the library knows it."""

    def __init__(
        self,
        spec: OpSpec,
        library: str,
        names: Names,
        builtins: Mapping[str, str],
        respelled: Callable[[Expr], Expr] = lambda expr: expr,
    ) -> None:
        schema = spec.schema
        self.spec = spec
        self.schema = schema
        self.library = library
        self.names = names
        self.builtins = builtins
        self.respelled = respelled
        self.parameters = Parameters(schema)
        self.name = f"{schema.name}.{schema.overload}" if schema.overload else schema.name
        self.returns = return_annotation(schema)
        self.constants: dict[str, str] = {}  # names by what they are, at module level
        self._stem = self.name.replace(".", "_").strip("_").lower()
        self._spelled = self.parameters.spelled
        if "float" in builtins:
            self._spelled = {"inf": 'builtins.float("inf")', "nan": 'builtins.float("nan")', **self._spelled}

    def private(self, suffix: str) -> str:
        """A new module-level name for something of this operator."""
        return self.names.unique(f"_{self._stem}_{suffix}")

    def constant(self, suffix: str, value: str) -> str:
        """The module-level name of what does not change from call to call."""
        if value not in self.constants:
            self.constants[value] = self.private(suffix)
        return self.constants[value]

    def python(self, expr: Expr, rename: Mapping[str, str] | None = None) -> str:
        """An expression with the operator's arguments as parameters, other names by ``rename``."""
        spelled = {**self._spelled, **rename} if rename else self._spelled
        # Not `torch.add`: the top level has functions of its own, and lacks operators that are only methods.
        return to_python(self.respelled(expr), spelled, self.builtins, "torch.ops.aten")

    def builtin(self, name: str) -> str:
        """How a builtin is spelled where an operator may have its name."""
        return self.builtins.get(name, name)

    def registered(self, key: str, line_of: str) -> str:
        """The decorator that registers a function."""
        return f'@library.register({self.library}, "{self.name}", "{key}", source={quoted(line_of)})'


def plan_kernels(op: OpPlan, launchers: Mapping[tuple[str, ...], str]) -> tuple[list[str], list[Function]]:
    """Statements, and behind them the functions that compute ``op``: preconditions, the fake rule, kernels."""
    bindings: list[str] = []
    functions: list[Function] = []
    prelude = _deprecation(op)
    checks = [check for check in op.spec.checks if not check.refused_by]
    refused = [line for check in op.spec.checks if check.refused_by for line in _checked(op, check)]
    lines = [line for check in checks for line in _checked(op, check)]
    if all(check.message for check in checks):  # where all have words of their own, they are as short as a call
        prelude += lines
    else:
        check = Function(op.private("check"), op.parameters.unbound, "None", lines)
        functions.append(check)
        prelude.append(f"{check.name}({', '.join(op.parameters.spelled.values())})")
    fake = _fake_function(op, bindings, [*prelude, *refused])
    if fake is not None:
        functions.append(fake)
    bodies = [_Body(op, kernel, bindings).statements(launchers) for kernel in op.spec.kernels]
    functions += _kernel_functions(op, bodies, prelude, refused)
    if op.spec.fallback:
        functions.append(_fallback_function(op))
    functions += [_autocast_function(op, device) for device in op.spec.autocast]
    return [*bindings, *(f"{name} = {value}" for value, name in op.constants.items())], functions


def _deprecation(op: OpPlan) -> list[str]:
    """A warning at the line of the call: the dispatcher between it and the kernel has no Python frame."""
    if not op.spec.deprecated:
        return []
    text = quoted(f"{_title(op)} is deprecated: {op.spec.deprecated}")
    return [f"warnings.warn({text}, {op.builtin('FutureWarning')}, stacklevel=2)"]


# ---------------------------------------------------------------- preconditions


def leaves_checks(spec: OpSpec) -> bool:
    """Whether checks are left to a kernel that refuses what fails them; their words are in the fake rule."""
    return any(check.refused_by for check in spec.checks) and any(_refuses(kernel) for kernel in spec.kernels)


def _refuses(kernel: KernelSpec) -> bool:
    return isinstance(kernel.body, Launch) and kernel.body.abi == "c" and kernel.devices == ("cpu",)


def _checked(op: OpPlan, check: Check) -> list[str]:
    """Statements that raise where a check fails."""
    condition = check.condition
    if check.message:
        return [f"if {op.python(negated(condition.expr))}:", f"    raise {_worded(op, check)}"]
    lines = []
    for clause in clauses(condition.expr):
        text = quoted(expectation(clause, partial(written, condition)))
        values = _values(op, condition, clause)
        error = f", {op.builtin(check.error)}" if check.error else ""
        lines += [
            f"if {op.python(negated(clause))}:",
            f"    raise library.check_error({quoted(_title(op))}, {text}, {values}{error})",
        ]
    return lines


def _worded(op: OpPlan, check: Check) -> str:
    """The error of a check with a message of its own: its text, and the values between."""
    text, values = "", []
    for part in check.message:
        if isinstance(part, str):
            text += part.replace("{", "{{").replace("}", "}}")
        else:
            text += "{}"
            values.append(op.python(part.expr))
    error = f"error={op.builtin(check.error)}" if check.error else ""
    return f"library.failed_check({', '.join(part for part in (quoted(text), *values, error) if part)})"


def _title(op: OpPlan) -> str:
    return op.schema.qualname


def _values(op: OpPlan, formula: Formula, *conditions: Expr) -> str:
    """A dict of what the parts of failed conditions evaluated to, by their text."""
    parts = {written(formula, part): op.python(part) for item in conditions for part in operands(item, False)}
    return "{" + ", ".join(f"{quoted(text)}: {code}" for text, code in parts.items()) + "}"


# ---------------------------------------------------------------- outputs


def _allocation(op: OpPlan, rule: FakeRule) -> str:
    tensors = tensor_arguments(op.schema)
    first = op.parameters.spelled[tensors[0].name] if tensors else ""
    dtype = None if rule.dtype is None else op.python(rule.dtype.expr)
    if rule.shape is None and rule.device is None:
        like = first if rule.like is None else op.python(rule.like.expr)
        return f"npu.alloc_like({like})" if dtype is None else f"npu.alloc_like({like}, dtype={dtype})"
    pair = _broadcast_pair(rule)
    if pair is not None and op.python(pair[0]) == first:
        given = "" if _is_result_type(rule, pair) else f", dtype={dtype or f'{first}.dtype'}"
        return f"npu.alloc_broadcast({first}, {op.python(pair[1])}{given})"
    device = f"{first}.device" if rule.device is None else op.python(rule.device.expr)
    return f"npu.alloc({_shape(op, rule, first)}, {dtype or f'{first}.dtype'}, {device})"


def _broadcast_pair(rule: FakeRule) -> tuple[Name, Name] | None:
    """The two tensors whose broadcast shape an output has, which one call allocates."""
    match rule:
        case FakeRule(
            shape=Formula(
                expr=Call(
                    function=Name(id="broadcast_shapes"),
                    arguments=(Attribute(value=Name() as a, name="shape"), Attribute(value=Name() as b, name="shape")),
                )
            ),
            device=None,
        ):
            return a, b
    return None


def _is_result_type(rule: FakeRule, pair: tuple[Name, Name]) -> bool:
    return rule.dtype is not None and rule.dtype.expr == Call(Name("result_type"), pair)


def _shape(op: OpPlan, rule: FakeRule, first: str) -> str:
    if rule.shape is None:
        return f"{first}.shape"
    if isinstance(rule.shape, Formula):
        return op.python(rule.shape.expr)
    parts = [op.python(part.expr) for part in rule.shape]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _returned(op: OpPlan, fresh: Sequence[str]) -> list[str]:
    """The return statement: new values, and the arguments that were written to."""
    values = iter(fresh)
    parts = []
    for ret in op.schema.returns:
        argument = aliased_argument(op.schema, ret)
        parts.append(next(values) if argument is None else op.parameters.spelled[argument.name])
    return [f"return {', '.join(parts)}"] if parts else []


def _fake_function(op: OpPlan, bindings: list[str], prelude: list[str]) -> Function | None:
    spec = op.spec
    given = "fake" in spec.node.entries
    if not given and (runs_on_meta(spec) or fresh_returns(spec.schema)):
        return None
    name = op.private("fake")
    if spec.fake_function is not None:
        body = [*prelude, *_call_python(op, spec.fake_function, "fake", bindings)]
    else:
        body = [*prelude, *_returned(op, [_allocation(op, rule) for rule in spec.fakes])]
    place = place_of(spec.node.entries["fake"][0] if given else spec.node)
    decorator = op.registered("Meta", place)
    return _function(op, name, body, (decorator,))


def _function(op: OpPlan, name: str, body: Sequence[str], decorators: Sequence[str] = ()) -> Function:
    """A function with the operator's arguments; out of ``**kwargs`` it takes what its body reads."""
    if op.parameters.unpacked:
        rest = "\n".join(body)
        body = [*(line for line in op.parameters.unpacked if _mentions(rest, line.partition(" ")[0])), *body]
    return Function(name, op.parameters.declared, op.returns, body or ("pass",), decorators)


def _mentions(code: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code, re.ASCII) is not None


def _call_python(op: OpPlan, function: PythonFunction, role: str, bindings: list[str]) -> list[str]:
    """Hand everything on to a function of somebody's module."""
    name = op.private(f"{role}_python")
    bindings.append(f'{name} = library.python_function("{function.reference}")')
    return _handed_on(op, f"{name}({op.parameters.passed})")


def _handed_on(op: OpPlan, call: str) -> list[str]:
    """Return what an untyped call gives."""
    if not op.schema.returns:
        return [call]
    if "Any" in op.returns:
        return [f"return {call}"]
    result = op.parameters.result
    return [f"{result}: {op.returns} = {call}", f"return {result}"]


# ---------------------------------------------------------------- choosing a kernel


def _kernel_functions(
    op: OpPlan, bodies: Sequence[Sequence[str]], prelude: list[str], refused: list[str]
) -> list[Function]:
    kernels = op.spec.kernels
    chains: dict[tuple[int, ...], list[str]] = {}  # kernels that are chosen among, for which devices
    for device in (*dict.fromkeys([device for kernel in kernels for device in kernel.devices]), _OTHER):
        chain = tuple([i for i, kernel in enumerate(kernels) if not kernel.devices or device in kernel.devices])
        if chain:
            chains.setdefault(chain, []).append(device)
    functions: list[Function] = []
    alone: dict[int, str] = {}  # functions of kernels that are chosen among
    for i in [i for chain in chains if len(chain) > 1 for i in chain]:
        if i not in alone and not _is_inlined(kernels[i]):
            alone[i] = op.private(f"kernel_{i + 1}")
            functions.append(_function(op, alone[i], bodies[i]))
    for chain, devices in chains.items():
        rest = devices == [_OTHER]
        keys = [_composite_key(op)] if rest else [_KEYS[device] for device in devices]
        suffix = "kernel" if rest else "_".join([*devices, "kernel"])
        functions.append(_entry(op, chain, keys, suffix, bodies, alone, prelude, refused))
    return functions


def _is_inlined(kernel: KernelSpec) -> bool:
    """Whether the kernel's lines stand where it is chosen: a launch is short, and a call would cost as much."""
    return isinstance(kernel.body, Launch) and len(kernel.devices) == 1


_OTHER = ""  # any device that no kernel is for


def is_implicit(op: OpPlan) -> bool:
    """Whether an operator is differentiated through the operators that it is composed of."""
    return op.spec.backward is None and is_composite(op.spec)


def _composite_key(op: OpPlan) -> str:
    return "CompositeImplicitAutograd" if is_implicit(op) else "CompositeExplicitAutograd"


def _entry(
    op: OpPlan,
    chain: tuple[int, ...],
    keys: list[str],
    suffix: str,
    bodies: Sequence[Sequence[str]],
    alone: Mapping[int, str],
    prelude: list[str],
    refused: list[str],
) -> Function:
    """The function that is registered for a device: the only kernel, or the choice of one."""
    kernels = [op.spec.kernels[i] for i in chain]
    if not any(map(_refuses, kernels)):
        prelude, refused = [*prelude, *refused], []
    decorators = [op.registered(key, place_of(kernels[0].node)) for key in keys]
    name = op.private(suffix)
    if len(chain) == 1:
        guard = _guard(op, kernels[0], suffix) if _needs_guard(op, kernels[0]) else []
        return _function(op, name, [*prelude, *guard, *bodies[chain[0]]], decorators)  # `refused` is left to the kernel
    lines = list(prelude)
    for i, kernel in zip(chain, kernels, strict=True):
        run = list(bodies[i])
        if i in alone:
            call = f"{alone[i]}({op.parameters.passed})"
            run = [f"return {call}" if op.schema.returns else call]
        if not _refuses(kernel):
            run = [*refused, *run]
        condition = _condition(op, kernel)
        if not condition:
            return _function(op, name, [*lines, *run], decorators)
        leave = [] if op.schema.returns else ["return"]
        lines += [f"if {condition}:", *(f"    {line}" for line in (*run, *leave))]
    return _function(op, name, [*lines, f"raise {_refusal(op, kernels, suffix)}"], decorators)


def _needs_guard(op: OpPlan, kernel: KernelSpec) -> bool:
    """A launched kernel checks the dtypes of the tensors that it gets itself."""
    body = kernel.body
    if kernel.when is not None or not isinstance(body, Launch):
        return kernel.when is not None or bool(kernel.dtypes)
    passed = {name for arg in body.args if arg.type in ("ptr", "desc") for name in _names(arg)}
    return bool(kernel.dtypes) and any(argument.name not in passed for argument in tensor_arguments(op.schema))


def _guard(op: OpPlan, kernel: KernelSpec, suffix: str) -> list[str]:
    condition = _condition(op, kernel)
    if not condition:
        return []
    opposite = f"not ({condition})"
    if kernel.when is not None and not kernel.dtypes:
        opposite = op.python(negated(kernel.when.expr))
    elif kernel.when is None and " and " not in condition:
        opposite = condition.replace(" in ", " not in ").replace(" == ", " != ")
    return [f"if {opposite}:", f"    raise {_refusal(op, [kernel], suffix)}"]


def _condition(op: OpPlan, kernel: KernelSpec) -> str:
    parts = []
    tensors = [op.parameters.spelled[argument.name] for argument in tensor_arguments(op.schema)]
    if kernel.dtypes and tensors:
        test = f"in {_dtype_set(op, kernel)}" if len(kernel.dtypes) > 1 else f"== torch.{kernel.dtypes[0]}"
        parts += [f"{tensor}.dtype {test}" for tensor in tensors]
    if kernel.when is not None:
        expr = kernel.when.expr
        text = op.python(expr)
        binds_less = isinstance(expr, Conditional) or (isinstance(expr, BoolOp) and expr.op == "or")
        parts.append(f"({text})" if parts and binds_less else text)
    return " and ".join(parts)


def _dtype_set(op: OpPlan, kernel: KernelSpec) -> str:
    """A set made once: attributes of the package for every call cost more than a small kernel."""
    return op.constant("dtypes", f"{op.builtin('frozenset')}({_dtypes(kernel)})")


def _dtypes(kernel: KernelSpec) -> str:
    names = [f"torch.{name}" for name in kernel.dtypes]
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def _refusal(op: OpPlan, kernels: Sequence[KernelSpec], suffix: str) -> str:
    """The error for arguments that no kernel takes: what each would have taken, and what it got."""
    wanted, got = [], {}
    for kernel in kernels:
        reasons = [f"dtypes {', '.join(kernel.dtypes)}"] if kernel.dtypes else []
        if kernel.when is not None:
            reasons.append(f"`{written(kernel.when, kernel.when.expr)}`")
            for part in operands(kernel.when.expr, False):
                got[written(kernel.when, part)] = op.python(part)
        if kernel.dtypes:
            for argument in tensor_arguments(op.schema):
                got[f"{argument.name}.dtype"] = f"{op.parameters.spelled[argument.name]}.dtype"
        wanted.append(f"{' and '.join(reasons)} ({place_of(kernel.node)})")
    device = suffix.removesuffix("kernel").replace("_", " ")
    text = f"arguments that a {device}kernel takes: {'; or '.join(wanted)}"
    values = "{" + ", ".join(f"{quoted(key)}: {value}" for key, value in got.items()) + "}"
    return f"library.check_error({quoted(_title(op))}, {quoted(text)}, {values})"


def _fallback_function(op: OpPlan) -> Function:
    """The function that is registered for devices without a kernel."""
    devices = {device for kernel in op.spec.kernels for device in kernel.devices}
    place = place_of(op.spec.node.entries["fallback"][0])
    decorators = [op.registered(_KEYS[device], place) for device in ("npu", "cuda", "mps") if device not in devices]
    if op.spec.fallback == "cpu":
        lines = fallback_statements(op.schema, op.parameters, op.builtin)
    else:
        text = quoted(f"{_title(op)} has no kernel for this device: it has kernels for {', '.join(sorted(devices))}")
        lines = [f"raise {op.builtin('NotImplementedError')}({text})"]
    return _function(op, op.private("fallback"), lines, decorators)


def _autocast_function(op: OpPlan, device: str) -> Function:
    """The function that runs before the kernels while autocast is on for a device."""
    key = f"Autocast{_KEYS[device]}"
    decorator = op.registered(key, place_of(op.spec.node.entries["autocast"][0]))
    lines = autocast_statements(op.schema, op.parameters, key, op.spec.autocast[device])
    return _function(op, op.private(f"{device}_autocast"), lines, [decorator])


# ---------------------------------------------------------------- one kernel's body


class _Body:
    """The statements of one kernel; what it needs at module level goes to ``bindings``."""

    def __init__(self, op: OpPlan, kernel: KernelSpec, bindings: list[str]) -> None:
        self.op = op
        self.kernel = kernel
        self.device = kernel.devices[0] if kernel.devices else "kernel"
        self.bindings = bindings

    def statements(self, launchers: Mapping[tuple[str, ...], str]) -> list[str]:
        """The kernel's own lines, without preconditions."""
        op, body = self.op, self.kernel.body
        if isinstance(body, PythonFunction):
            return _call_python(op, body, self.device, self.bindings)
        if isinstance(body, Launch):
            return self._launch(body, launchers)
        if isinstance(body, Mindspore):
            return self._written_back([self._primitive(body)])
        if isinstance(body, Variant):
            return variant_statements(op.schema, body.base, op.parameters, op.builtin)
        return self._written_back([op.python(formula.expr) for formula in body.formulas])

    def _written_back(self, values: list[str]) -> list[str]:
        """Return ``values``; one for a mutated argument is copied into it, unless it was made in place."""
        op = self.op
        targets = [aliased_argument(op.schema, ret) for ret in op.schema.returns]
        if len(values) != len(targets) or not any(targets):
            return _handed_on(op, ", ".join(values))
        lines, fresh = [], []
        for target, value, formula in zip(targets, values, self._formulas(len(values)), strict=True):
            if target is None:
                fresh.append(value)
            elif _is_in_place(formula):
                lines.append(value)
            else:
                lines.append(f"{op.parameters.spelled[target.name]}.copy_({value})")
        return [*lines, *_returned(op, fresh)]

    def _formulas(self, count: int) -> list[Expr | None]:
        body = self.kernel.body
        return [formula.expr for formula in body.formulas] if isinstance(body, Compute) else [None] * count

    def _primitive(self, body: Mindspore) -> str:
        op = self.op
        attrs = [by_name(name, op.python(value.expr)) for name, value in body.attrs.items()]
        function = f"library.mindspore_kernel({', '.join([quoted(body.primitive), *attrs])})"
        if not any(isinstance(node, Name) for value in body.attrs.values() for node in walk(value.expr)):
            name = op.private(f"{self.device}_mindspore")
            self.bindings.append(f"{name} = {function}")
            function = name
        if body.args is None:
            args = [op.parameters.spelled[argument.name] for argument in tensor_arguments(op.schema)]
        else:
            args = [op.python(arg.expr) for arg in body.args]
        return f"{function}({', '.join(args)})"

    # ------------------------------------------------------------ launched kernels

    def _launch(self, body: Launch, launchers: Mapping[tuple[str, ...], str]) -> list[str]:
        op = self.op
        local = op.parameters.local_names()
        outputs, rename = _output_variables(op, local)
        lines = [f"{name} = {_allocation(op, rule)}" for name, rule in zip(outputs, op.spec.fakes, strict=True)]
        where = self._device_expression(outputs)
        if body.workspace is not None:
            rename["workspace"] = local.unique("workspace")
            size = op.python(body.workspace.expr, rename)
            lines.append(f"{rename['workspace']} = npu.alloc(({size},), torch.uint8, {where})")
        if body.tiling:
            rename["tiling"] = local.unique("tiling")
            struct = op.private(f"{self.device}_tiling")
            fields = ", ".join(f"({quoted(name)}, npu.{arg.type})" for name, arg in body.tiling.items())
            self.bindings.append(f"{struct} = npu.struct({fields})")
            packed = ", ".join(self._value(arg, rename, where) for arg in body.tiling.values())
            lines.append(f"{rename['tiling']} = {struct}({packed})")
        rename["stream"] = f"npu.current_stream({where})"
        bound = op.private(self.device)
        self.bindings.append(f"{bound} = {self._binding(body, launchers)}")
        values = [] if body.block_dim is None else [op.python(body.block_dim.expr, rename)]
        values += [self._value(arg, rename, where) for arg in body.args]
        return [*lines, f"{bound}({', '.join(values)})", *_returned(op, outputs)]

    def _device_expression(self, outputs: Sequence[str]) -> str:
        tensors = [self.op.parameters.spelled[argument.name] for argument in tensor_arguments(self.op.schema)]
        return f"{[*tensors, *outputs][0]}.device" if tensors or outputs else quoted(self.device)

    def _binding(self, body: Launch, launchers: Mapping[tuple[str, ...], str]) -> str:
        key = ("library", body.library.value) if body.library else ("source", *(item.value for item in body.sources))
        types = [f"npu.{_PASSED_AS.get(arg.type, arg.type)}" for arg in body.args]
        spelled = f"({types[0]},)" if len(types) == 1 else f"({', '.join(types)})"
        checked = self._checked_dtypes(body) if self.kernel.dtypes else []
        dtypes = f", dtypes=({', '.join(checked)}{',' if len(checked) == 1 else ''})" if {*checked} - {"None"} else ""
        return f'{launchers[key]}.bind("{body.symbol}", {spelled}, abi="{body.abi}"{dtypes})'

    def _checked_dtypes(self, body: Launch) -> list[str]:
        """The dtypes of each argument, None for what is no tensor or is made for the launch, in a known dtype."""
        made = {"workspace", "tiling", "stream", *_new_outputs(self.op)} - {*self.op.parameters.spelled}
        dtypes = _dtypes(self.kernel)
        return [dtypes if arg.type in ("ptr", "desc") and not _names(arg) <= made else "None" for arg in body.args]

    def _value(self, arg: KernelArg, rename: Mapping[str, str], where: str) -> str:
        expr = arg.value.expr
        if arg.type not in ("ptr", "host", "desc", "upload") and isinstance(expr, Call):
            expr = expr.arguments[0]  # the C type is declared in the binding
        code = self.op.python(expr, rename)
        return f"npu.upload({code}, {where})" if arg.type == "upload" else code


_PASSED_AS = {"upload": "ptr"}


def _names(arg: KernelArg) -> set[str]:
    return {node.id for node in walk(arg.value.expr) if isinstance(node, Name)}


def _new_outputs(op: OpPlan) -> set[str]:
    """All names of the outputs that are no arguments."""
    fresh = set(fresh_returns(op.schema))
    return {name for name, i in output_names(op.schema).items() if i in fresh}


def _output_variables(op: OpPlan, local: Names) -> tuple[list[str], dict[str, str]]:
    """Variables for the new outputs, and how every name of an output is spelled."""
    returns = op.schema.returns
    variables: dict[int, str] = {}
    for i in fresh_returns(op.schema):
        named = returns[i].name
        variables[i] = local.unique(named or ("out" if len(returns) == 1 else f"out{i}"))
    rename = {}
    for name, i in output_names(op.schema).items():
        argument = aliased_argument(op.schema, returns[i])
        rename[name] = variables[i] if argument is None else op.parameters.spelled[argument.name]
    return list(variables.values()), rename


def _is_in_place(expr: Expr | None) -> bool:
    """Whether an expression is the call of an in-place operator."""
    return (
        isinstance(expr, Call)
        and isinstance(expr.function, Operator)
        and expr.function.name.endswith("_")
        and not expr.function.name.endswith("__")
    )
