"""From an operator's entry to the view of its definition, with expressions in the language of definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

import opschema
from mtcodegen.check.forward import differentiable_arguments, tangent_names
from mtcodegen.check.kernels import is_composite
from mtcodegen.entries.model import (
    Check,
    Compute,
    Derivative,
    FakeRule,
    Formula,
    KernelArg,
    KernelSpec,
    Launch,
    Mindspore,
    OpSpec,
    PythonFunction,
    Tangent,
    Variant,
)
from mtcodegen.entries.schemas import aliased_argument, fresh_returns, is_tensor, is_tensor_list, tensor_arguments
from mtcodegen.expr import Call as CallExpr
from mtcodegen.expr import Expr, Literal, Name, Operator, gradient_names, output_names, walk
from mtcodegen.expr.nodes import Attribute, Binary, BoolOp, Compare, Conditional, Index, map_children
from mtcodegen.pycode.definitions import DefinitionEmitter
from mtcodegen.pycode.expressions import attribute, by_name
from mtcodegen.pycode.imports import Imports
from mtcodegen.pycode.literals import quoted, strings
from mtcodegen.pycode.names import KEYWORDS, Names
from mtcodegen.targets.definitions import views
from mtcodegen.targets.plan.stub import docstring

__all__ = ["OperatorPlan"]

_KEYS = {"cpu": "CPU", "npu": "NPU", "cuda": "CUDA", "mps": "MPS", "meta": "Meta"}
# What the function of a definition calls: no argument's variable is called so.
_SPOKEN = frozenset(
    {"op", "torch", "math", "absolute", "align_up", "all_of", "any_of", "bf16", "bool_", "broadcast"}
    | {"broadcast_shapes", "can_cast", "ceil", "ceil_div", "desc", "empty", "exp", "f16", "f32", "f64", "floor", "i8"}
    | {"i16", "i32", "i64", "like", "log", "maximum", "minimum", "none_of", "one_of", "promote_types", "result_type"}
    | {"sqrt", "struct", "to_float", "to_int", "total", "u8", "u16", "u32", "u64", "upload", "workspace"}
    | {"NotImplemented", "NotImplementedError", "IndexError", "TypeError", "ValueError", "RuntimeError"}
)


class OperatorPlan:
    """One operator on its way into a module."""

    def __init__(
        self, spec: OpSpec, library: str, name: str, imports: Imports, launchers: Mapping[tuple[str, ...], str]
    ) -> None:
        self.spec, self.schema, self.library, self.name = spec, spec.schema, library, name
        self.imports, self.launchers = imports, launchers
        names = Names(reserved=KEYWORDS | _SPOKEN | {"_"})
        self.spelled = names.each([argument.name for argument in spec.schema.arguments])
        self.outputs = self._output_names(names)
        self.emitter = DefinitionEmitter(imports, {**self.spelled, **self.outputs})
        self.local = names

    def _output_names(self, names: Names) -> dict[str, str]:
        """How every name of an output is spelled."""
        returns = self.schema.returns
        variables = {}
        for i in fresh_returns(self.schema):
            variables[i] = names.unique(returns[i].name or ("out" if len(returns) == 1 else f"out{i}"))
        found = {}
        for name, i in output_names(self.schema).items():
            argument = aliased_argument(self.schema, returns[i])
            found[name] = variables[i] if argument is None else self.spelled[argument.name]
        self.variables = variables
        return found

    # ------------------------------------------------------------ the whole

    def view(self) -> views.Operator:
        """What the templates see of it."""
        spec = self.spec
        checks = tuple(self._check(check) for check in spec.checks)
        kernels = tuple(self._choices())
        gradient = self._gradient()
        returns = self._returns()
        used = self.emitter.read
        return views.Operator(
            name=self.name,
            library=self.library,
            schema=quoted(str(self.schema).removeprefix(f"{self.schema.namespace}::")),
            options=tuple(self._options()),
            parameters=tuple(spelled for name, spelled in self.spelled.items() if name in used),
            doc=tuple(docstring(spec.doc, "    ").split("\n")) if spec.doc else (),
            checks=self._joined(checks),
            returns=returns,
            kernels=kernels,
            gradient=gradient,
            tangents=self._tangents(),
        )

    def _options(self) -> Iterable[views.Option]:
        spec = self.spec
        if spec.tags:
            yield views.Option("tags", quoted(spec.tags[0]) if len(spec.tags) == 1 else strings(spec.tags))
        if spec.variants != ("function",):
            yield views.Option("variants", strings(spec.variants))
        tensors = [argument for argument in spec.schema.arguments if opschema.base_of(argument.type).name == "Tensor"]
        several = len(tensors) > 1 or any(is_tensor_list(argument.type) for argument in tensors)
        composed = spec.backward is None and is_composite(spec) and not any(kernel.devices for kernel in spec.kernels)
        if several and not composed and spec.device_check != "NoCheck":
            yield views.Option("device_check", quoted(spec.device_check))
        if any(argument.is_write for argument in tensors) and spec.overlap_check:
            yield views.Option("overlap_check", strings(spec.overlap_check))
        if spec.deprecated:
            yield views.Option("deprecated", quoted(spec.deprecated))
        if spec.fallback:
            yield views.Option("fallback", quoted(spec.fallback))
        if spec.autocast:
            items = ", ".join(f"{quoted(_KEYS[device])}: {quoted(dtype)}" for device, dtype in spec.autocast.items())
            yield views.Option("autocast", f"{{{items}}}")
        if spec.graph_update:
            update = {node.value for node in spec.graph_update}
            names = [argument.name for argument in self.schema.arguments if argument.name in update]
            yield views.Option("graph_update", strings(names))

    # ------------------------------------------------------------ checks

    def _check(self, check: Check) -> views.Check:
        conditions = tuple(map(self.emitter.text, _clauses(check.condition.expr)))
        formatted = any(isinstance(part, Formula) for part in check.message)
        message = "".join(self._part(part, formatted) for part in check.message)
        message = f'{"f" if formatted else ""}"{message}"' if check.message else ""
        return views.Check(conditions, message, check.error)

    def _part(self, part: str | Formula, formatted: bool) -> str:
        """A part of a message as it stands in a string."""
        if isinstance(part, str):
            text = quoted(f"'{part}")[2:-1] if '"' in part else quoted(part)[1:-1]
            return text.replace("{", "{{").replace("}", "}}") if formatted else text
        text = self.emitter.text(part.expr).replace('"', "'")
        return f"{{{text}}}"

    def _joined(self, checks: Sequence[views.Check]) -> tuple[views.Check, ...]:
        """Neighbours that say nothing of their own as one."""
        found: list[views.Check] = []
        for check in checks:
            if found and not (check.message or check.error or found[-1].message or found[-1].error):
                found[-1] = replace(found[-1], conditions=(*found[-1].conditions, *check.conditions))
            else:
                found.append(check)
        return tuple(found)

    # ------------------------------------------------------------ outputs

    def _returns(self) -> views.Call | None:
        """`op.returns(...)`, once it is known which outputs are read."""
        spec, returns = self.spec, self.schema.returns
        made = any(isinstance(kernel.body, Variant) for kernel in spec.kernels)
        if self._is_composed() or made or not returns:
            return None
        read = {self.outputs[name] for name in self.emitter.read if name in self.outputs}
        known = bool(spec.fakes) or not fresh_returns(self.schema)
        launched = any(isinstance(kernel.body, Launch) for kernel in spec.kernels)
        if not known and not launched:
            names = tuple(self.variables.get(i, f"out{i}") for i in range(len(returns)))
            return views.Call(_targets(names, read), ()) if read & {*names} else None
        values, targets = [], []
        fakes = iter(spec.fakes)
        for i, ret in enumerate(returns):
            argument = aliased_argument(self.schema, ret)
            if argument is None:
                values.append(self._allocation(next(fakes)))
                targets.append(self.variables[i])
            else:
                self.emitter.read.add(argument.name)
                values.append(self.spelled[argument.name])
                targets.append(f"out{i}")
        return views.Call(_targets(targets, read), tuple(values))

    def _first(self) -> str:
        tensors = tensor_arguments(self.schema)
        if not tensors:
            return ""
        self.emitter.read.add(tensors[0].name)
        return self.spelled[tensors[0].name]

    def _allocation(self, rule: FakeRule) -> str:
        text, helper = self.emitter.text, self.emitter.helper
        dtype = None if rule.dtype is None else text(rule.dtype.expr)
        if rule.shape is None and rule.device is None:
            like = self._first() if rule.like is None else text(rule.like.expr)
            return f"{helper('like')}({like}{'' if dtype is None else f', {dtype}'})"
        pair = _broadcast_pair(rule)
        if pair is not None and pair[0].id == tensor_arguments(self.schema)[0].name:
            return f"{helper('broadcast')}({text(pair[0])}, {text(pair[1])})"
        device = self._first() if rule.device is None else text(rule.device.expr)
        if rule.shape is None:
            shape = f"{self._first()}.shape"
        elif isinstance(rule.shape, Formula):
            shape = text(rule.shape.expr)
        else:
            shape = f"[{', '.join(text(part.expr) for part in rule.shape)}]"
        return f"{helper('empty')}({shape}, {dtype or f'{self._first()}.dtype'}, {device})"

    def _is_composed(self) -> bool:
        """Whether what is returned is what other operators compute, and nothing else says it."""
        kernels = self.spec.kernels
        made = any(isinstance(kernel.body, Compute) for kernel in kernels)
        return made and not any(kernel.devices for kernel in kernels) and not self.spec.fakes

    # ------------------------------------------------------------ kernels

    def _choices(self) -> Iterable[views.Choice]:
        kernels = self.spec.kernels
        chains: dict[tuple[int, ...], list[str]] = {}
        for device in (*dict.fromkeys([device for kernel in kernels for device in kernel.devices]), ""):
            chain = tuple(i for i, kernel in enumerate(kernels) if not kernel.devices or device in kernel.devices)
            if chain:
                chains.setdefault(chain, []).append(device)
        fake = self.spec.fake_function
        for chain, devices in chains.items():
            keys = tuple(_KEYS.get(device, "any") for device in devices)
            yield views.Choice(tuple(self._chosen_kernels([kernels[i] for i in chain], keys)))
        if fake is not None:
            yield views.Choice((("", views.Kernel("python", '"Meta"', quoted(fake.reference))),))

    def _chosen_kernels(
        self, kernels: Sequence[KernelSpec], keys: tuple[str, ...]
    ) -> Iterable[tuple[str, views.Kernel]]:
        """The kernels up to the first that runs whatever the arguments are."""
        for kernel in kernels:
            yield self._choose(kernel, keys, len(kernels) == 1)
            if not kernel.dtypes and kernel.when is None:
                return

    def _choose(self, kernel: KernelSpec, keys: tuple[str, ...], alone: bool) -> tuple[str, views.Kernel]:
        """The condition of a kernel, and its view; of one that is launched alone the launch judges the dtypes."""
        parts = []
        judged = alone and kernel.when is None and isinstance(kernel.body, Launch) and self._passes_all(kernel.body)
        if kernel.dtypes and not judged:
            for argument in tensor_arguments(self.schema):
                dtypes = ", ".join(f"{self.emitter.torch()}.{name}" for name in kernel.dtypes)
                self.emitter.read.add(argument.name)
                dtype = f"{self.spelled[argument.name]}.dtype"
                single = len(kernel.dtypes) == 1
                one_of = "" if single else self.emitter.helper("one_of")
                parts.append(f"{dtype} == {dtypes}" if single else f"{one_of}({dtype}, {dtypes})")
        if kernel.when is not None:
            parts.append(self.emitter.text(kernel.when.expr))
        condition = parts[0] if len(parts) == 1 else ""
        if len(parts) > 1:
            condition = f"{self.emitter.helper('all_of')}({', '.join(parts)})"
        # What may be missing has no part in the condition: its dtype is for the launch to judge.
        optional = isinstance(kernel.body, Launch) and bool(
            _passed(kernel.body) & self.spelled.keys() - self._tensors()
        )
        return condition, self._kernel(kernel, keys, bool(kernel.dtypes) and (not condition or optional))

    def _tensors(self) -> set[str]:
        return {argument.name for argument in tensor_arguments(self.schema)}

    def _optional(self) -> set[str]:
        return self.spelled.keys() - self._tensors()

    def _passes_all(self, body: Launch) -> bool:
        """Whether a kernel gets all tensors, whose dtypes its launch looks at then."""
        return self._tensors() <= _passed(body)

    def _kernel(self, kernel: KernelSpec, keys: tuple[str, ...], checks_dtypes: bool) -> views.Kernel:
        body = kernel.body
        device = quoted(keys[0]) if len(keys) == 1 else strings(keys)
        if isinstance(body, PythonFunction):
            return views.Kernel("python", "" if device == '"CPU"' else device, quoted(body.reference))
        if isinstance(body, Launch):
            return self._launch(body, device, kernel.dtypes if checks_dtypes else ())
        if isinstance(body, Compute):
            kind = "returns" if self._is_composed() else "compute"
            return views.Kernel(kind, device, "", tuple(self._computed(body)))
        if isinstance(body, Mindspore):
            tensors = [Name(argument.name) for argument in tensor_arguments(self.schema)]
            args = tensors if body.args is None else [formula.expr for formula in body.args]
            options = tuple(views.Option(name, self.emitter.text(v.expr)) for name, v in body.attrs.items())
            values = tuple(map(self.emitter.text, args))
            return views.Kernel("mindspore", device, quoted(body.primitive), values, options)
        base = body.base
        self.emitter.torch()
        operator = attribute("torch.ops", base.namespace or "", base.name, base.overload or "default")
        return views.Kernel("variant", "", operator)

    def _computed(self, body: Compute) -> Iterable[str]:
        """The outputs: one for an argument that is written to is copied into it, unless it was made in place."""
        returns = self.schema.returns
        targets = [aliased_argument(self.schema, ret) for ret in returns]
        for i, formula in enumerate(body.formulas):
            text = self.emitter.text(formula.expr)
            target = targets[i] if len(body.formulas) == len(returns) else None
            if target is None or _is_in_place(formula.expr):
                yield text
            else:
                self.emitter.read.add(target.name)
                yield f"{self.spelled[target.name]}.copy_({text})"

    def _launch(self, body: Launch, device: str, dtypes: tuple[str, ...]) -> views.Kernel:
        helper, local = self.emitter.helper, []
        emitter = DefinitionEmitter(self.imports, dict(self.emitter.rename))
        emitter.read = self.emitter.read
        first = self._first() if tensor_arguments(self.schema) else next(iter(self.variables.values()))
        if not tensor_arguments(self.schema):
            self.emitter.read.add(next(n for n, v in self.outputs.items() if v == first))
        if body.workspace is not None:
            scratch = self.local.unique("scratch")
            local.append((scratch, f"{helper('workspace')}({emitter.text(body.workspace.expr)}, {first})"))
            emitter.rename = {**emitter.rename, "workspace": scratch}
        if body.tiling:
            name = self.local.unique("tiling")
            fields = ", ".join(by_name(f, self._typed(emitter, arg, first)) for f, arg in body.tiling.items())
            local.append((name, f"{helper('struct')}({fields})"))
            emitter.rename = {**emitter.rename, "tiling": name}
        key = ("library", body.library.value) if body.library else ("source", *(item.value for item in body.sources))
        arguments = tuple(self._typed(emitter, arg, first) for arg in body.args)
        options = []
        if body.block_dim is not None:
            options.append(views.Option("block_dim", emitter.text(body.block_dim.expr)))
        if dtypes:
            names = ", ".join(f"{self.emitter.torch()}.{name}" for name in dtypes)
            options.append(views.Option("dtypes", f"[{names}]"))
        if body.abi != ("ascendc" if device == '"NPU"' else "c"):
            options.append(views.Option("abi", quoted(body.abi)))
        callee = f"{self.launchers[key]}[{quoted(body.symbol)}]"
        return views.Kernel("launch", device, callee, arguments, tuple(options), tuple(local))

    def _typed(self, emitter: DefinitionEmitter, arg: KernelArg, first: str) -> str:
        expr = arg.value.expr
        if arg.type in ("ptr", "host"):
            return emitter.text(expr)
        if arg.type == "upload":
            return f"{emitter.helper('upload')}({emitter.text(expr)}, {first})"
        inner = expr.arguments[0] if isinstance(expr, CallExpr) and arg.type != "desc" else expr
        return f"{emitter.helper(arg.type)}({emitter.text(inner)})"

    # ------------------------------------------------------------ gradients

    def _gradient(self) -> views.Derivatives | None:
        backward = self.spec.backward
        if backward is None:
            return None
        if backward.marker == "not_implemented":
            return views.Derivatives("not_implemented")
        if backward.function is not None:
            setup = backward.setup_context
            context = "" if setup is None else quoted(setup.reference)
            return views.Derivatives("backward", function=quoted(backward.function.reference), setup_context=context)
        markers = {backward.marker} if backward.marker else {item.marker for item in backward.derivatives}
        if markers == {"not_differentiable"}:
            return views.Derivatives("not_differentiable")
        return self._formulas(backward.derivatives)

    def _formulas(self, derivatives: Sequence[Derivative]) -> views.Derivatives:
        count = len(self.schema.returns)
        wanted = {name: i for name, i in gradient_names(self.schema).items() if name not in self.spelled}
        named = {i: name for name, i in wanted.items()}  # the last, which is the one for people
        names = [self.local.unique(named.get(i, "grad" if count == 1 else f"grad{i}")) for i in range(count)]
        emitter = DefinitionEmitter(
            self.imports, {**self.emitter.rename, **{name: names[i] for name, i in wanted.items()}}
        )
        emitter.read = self.emitter.read
        gradients = []
        for item in derivatives:
            if item.marker == "not_differentiable":
                continue
            self.emitter.read.update(item.arguments)
            of = ", ".join(self.spelled[name] for name in item.arguments)
            expr = self._chosen(item)
            value = "NotImplemented" if expr is None else emitter.text(_named(expr, names))
            gradients.append((f"({of})" if len(item.arguments) > 1 else of, value))
        flags = self.spec.output_differentiability
        marks = "" if all(flags) else f"({', '.join(map(str, flags))}{',' if len(flags) == 1 else ''})"
        return views.Derivatives("formulas", tuple(names), tuple(gradients), marks)

    def _chosen(self, item: Derivative) -> Expr | None:
        """The formula, or the choice between those of several devices."""
        if item.formula is None:
            return None
        expr = item.formula.expr
        for device, formula in item.by_device.items():
            where = Attribute(Attribute(_first_tensor(self.schema), "device"), "type")
            expr = Conditional(Compare(where, (("==", Literal(device)),)), formula.expr, expr)
        return expr

    # ------------------------------------------------------------ tangents

    def _tangents(self) -> views.Tangents | None:
        forward = self.spec.forward
        if forward is None:
            return None
        if forward.function is not None:
            return views.Tangents(function=quoted(forward.function.reference))
        for item in forward.tangents:
            if item.marker == "not_implemented":
                text = f"{self.schema.qualname}: the tangent of `{item.name}` is not implemented"
                return views.Tangents(refusal=quoted(text))
        names = {f"{name}_t": f"{name}_t" for name in differentiable_arguments(self.spec)}
        before = {f"{name}_p": spelled for name, spelled in self.spelled.items()}
        outputs = {name: self._output_name(i) for name, i in output_names(self.schema).items()}
        emitter = DefinitionEmitter(self.imports, before | self.spelled | outputs | names | {"linear": "linear"})
        found = {item.name: item for item in forward.tangents}
        values = [self._tangent(emitter, found.get(name), i) for i, name in enumerate(tangent_names(self.schema))]
        read = dict.fromkeys(emitter.rename[name] for name in emitter.rename if name in emitter.read)
        return views.Tangents(tuple(read), tuple(values))

    def _output_name(self, number: int) -> str:
        """As `op.jvp` gives it: an argument that is written to is there as it was before."""
        returns = self.schema.returns
        return "out" if len(returns) == 1 else f"out{number}"

    def _tangent(self, emitter: DefinitionEmitter, tangent: Tangent | None, number: int) -> str:
        if tangent is None:
            return "None"
        if tangent.marker == "auto_linear":
            linear = Name("linear")
            return emitter.text(linear if len(self.schema.returns) == 1 else Index(linear, Literal(number)))
        if tangent.marker == "auto_element_wise":
            total = self._element_wise()
            return "None" if total is None else emitter.text(total)
        return "None" if tangent.formula is None else emitter.text(tangent.formula.expr)

    def _element_wise(self) -> Expr | None:
        """The sum of the gradients' formulas, each with its argument's tangent in place of the output's gradient."""
        backward = self.spec.backward
        gradients = gradient_names(self.schema).keys() - self.spelled.keys()
        total: Expr | None = None
        for derivative in backward.derivatives if backward is not None else ():
            expr = self._chosen(derivative)
            if expr is not None:
                term = _of_tangent(expr, Name(f"{derivative.arguments[0]}_t"), gradients)
                total = term if total is None else Binary("+", total, term)
        return total


def _first_tensor(schema: opschema.Schema) -> Expr:
    """The gradient of an output that is a tensor, or of the first one in a list."""
    plain = [i for i, ret in enumerate(schema.returns) if is_tensor(ret.type)]
    if plain:
        return Index(Name("grads"), Literal(plain[0]))
    listed = next(i for i, ret in enumerate(schema.returns) if is_tensor_list(ret.type))
    return Index(Index(Name("grads"), Literal(listed)), Literal(0))


def _targets(names: Sequence[str], read: Set[str]) -> tuple[str, ...]:
    """Variables for outputs, none where nothing reads one."""
    return tuple(name if name in read else f"_{name}" for name in names) if read & {*names} else ()


def _of_tangent(expr: Expr, tangent: Name, gradients: Set[str]) -> Expr:
    if expr == Index(Name("grads"), Literal(0)) or (isinstance(expr, Name) and expr.id in gradients):
        return tangent
    return map_children(expr, lambda child: _of_tangent(child, tangent, gradients))


def _named(expr: Expr, names: Sequence[str]) -> Expr:
    """With ``grads[i]`` by the name that the gradient's function has for it."""
    match expr:
        case Index(value=Name(id="grads"), index=Literal(value=int() as i)):
            return Name(names[i])
    return map_children(expr, lambda child: _named(child, names))


def _passed(body: Launch) -> set[str]:
    """The names in what a kernel gets as tensors: arguments, outputs and its workspace."""
    exprs = [arg.value.expr for arg in body.args if arg.type in ("ptr", "desc")]
    return {node.id for expr in exprs for node in walk(expr) if isinstance(node, Name)}


def _clauses(expr: Expr) -> Iterable[Expr]:
    """``a and b`` is two conditions, the second of which is asked for where the first holds."""
    if isinstance(expr, BoolOp) and expr.op == "and":
        for value in expr.values:
            yield from _clauses(value)
    else:
        yield expr


def _broadcast_pair(rule: FakeRule) -> tuple[Name, Name] | None:
    """The two tensors whose broadcast shape and result type an output has, which one call allocates."""
    match rule:
        case FakeRule(
            shape=Formula(
                expr=CallExpr(
                    function=Name(id="broadcast_shapes"),
                    arguments=(Attribute(value=Name() as a, name="shape"), Attribute(value=Name() as b, name="shape")),
                )
            ),
            dtype=Formula(expr=dtype),
            device=None,
        ) if dtype == CallExpr(Name("result_type"), (a, b)):
            return a, b
    return None


def _is_in_place(expr: Expr) -> bool:
    """Whether an expression is the call of an in-place operator."""
    return (
        isinstance(expr, CallExpr)
        and isinstance(expr.function, Operator)
        and expr.function.name.endswith("_")
        and not expr.function.name.endswith("__")
    )
