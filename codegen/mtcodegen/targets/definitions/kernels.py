"""What runs an operator: its kernels by device, and where there are several, which one is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mtcodegen.entries.model import BuildOptions, Compute, KernelArg, KernelSpec, Launch, Mindspore, PythonFunction
from mtcodegen.entries.schemas import aliased_argument
from mtcodegen.entries.validate import device_keys
from mtcodegen.expr import Call, Expr, Name, Operator, walk
from mtcodegen.expr.types import C_FLOATS
from mtcodegen.findings.source import Text
from mtcodegen.pycode.definitions import DefinitionEmitter
from mtcodegen.pycode.expressions import attribute, by_name
from mtcodegen.pycode.literals import quoted, strings
from mtcodegen.targets.definitions import views
from mtcodegen.targets.definitions.outputs import is_composed
from mtcodegen.targets.definitions.scope import Scope

__all__ = ["KEYS", "all_sources", "choices", "launcher_key"]

KEYS: Mapping[str, str] = device_keys()


def launcher_key(body: Launch) -> tuple[str, ...]:
    """What tells one library of kernels from another: its path, or its sources."""
    if body.library is not None:
        return ("library", body.library.value)
    options = (repr(body.build),) if body.build != BuildOptions() else ()
    return ("source", *(source.value for source in all_sources(body)), *options)


def all_sources(body: Launch) -> tuple[Text, ...]:
    """What a kernel is built of: its sources, and the host's file that declares its tiling."""
    host = () if body.host_tiling is None else (body.host_tiling.path,)
    known = {source.value for source in body.sources}
    return (*body.sources, *(path for path in host if body.sources and path.value not in known))


def choices(scope: Scope, launchers: Mapping[tuple[str, ...], str]) -> Iterable[views.Choice]:
    """What runs on which devices; ``launchers`` are the variables of the module's kernel libraries."""
    kernels = scope.spec.kernels
    chains: dict[tuple[int, ...], list[str]] = {}
    for device in (*dict.fromkeys([device for kernel in kernels for device in kernel.devices]), ""):
        chain = tuple(i for i, kernel in enumerate(kernels) if not kernel.devices or device in kernel.devices)
        if chain:
            chains.setdefault(chain, []).append(device)
    fake = scope.spec.fake_function
    for chain, devices in chains.items():
        keys = tuple(KEYS.get(device, "any") for device in devices)
        yield views.Choice(tuple(_chosen(scope, launchers, [kernels[i] for i in chain], keys)))
    if fake is not None:
        yield views.Choice((("", views.Kernel("python", '"Meta"', quoted(fake.reference))),))


def _chosen(
    scope: Scope, launchers: Mapping[tuple[str, ...], str], kernels: Sequence[KernelSpec], keys: tuple[str, ...]
) -> Iterable[tuple[str, views.Kernel]]:
    """The kernels up to the first that runs whatever the arguments are."""
    tensors = {argument.name for argument in scope.tensors()}
    for kernel in kernels:
        passed = _passed(kernel.body)
        judged = len(kernels) == 1 and kernel.when is None and isinstance(kernel.body, Launch) and tensors <= passed
        condition = "" if judged else _condition(scope, kernel)
        # An optional tensor is not in the condition: the launch checks its dtype where it is given.
        launch_looks = not condition or not passed.isdisjoint(scope.arguments.keys() - tensors)
        yield condition, _kernel(scope, launchers, kernel, keys, kernel.dtypes if launch_looks else ())
        if not kernel.dtypes and kernel.when is None:
            return


def _condition(scope: Scope, kernel: KernelSpec) -> str:
    """Where a kernel runs; empty where it always does."""
    parts = []
    if kernel.dtypes:
        dtypes = _dtypes(scope, kernel.dtypes)
        for argument in scope.tensors():
            dtype = f"{scope.read(argument.name)}.dtype"
            single = len(kernel.dtypes) == 1
            parts.append(f"{dtype} == {dtypes}" if single else f"{scope.emitter.helper('one_of')}({dtype}, {dtypes})")
    if kernel.when is not None:
        parts.append(scope.emitter.text(kernel.when.expr))
    return f"{scope.emitter.helper('all_of')}({', '.join(parts)})" if len(parts) > 1 else "".join(parts)


def _dtypes(scope: Scope, names: Sequence[str]) -> str:
    return ", ".join(f"{scope.emitter.torch()}.{name}" for name in names)


def _passed(body: object) -> set[str]:
    """The names in what a launched kernel gets as tensors: arguments, outputs and its workspace."""
    if not isinstance(body, Launch):
        return set()
    exprs = [arg.value.expr for arg in body.args if arg.type in ("ptr", "desc")]
    return {node.id for expr in exprs for node in walk(expr) if isinstance(node, Name)}


def _kernel(
    scope: Scope,
    launchers: Mapping[tuple[str, ...], str],
    kernel: KernelSpec,
    keys: tuple[str, ...],
    dtypes: tuple[str, ...],
) -> views.Kernel:
    """A kernel's view; ``dtypes`` are those that its launch is to look at."""
    body = kernel.body
    device = quoted(keys[0]) if len(keys) == 1 else strings(keys)
    if isinstance(body, PythonFunction):
        return views.Kernel("python", "" if device == '"CPU"' else device, quoted(body.reference))
    if isinstance(body, Launch):
        return _launch(scope, body, launchers, device, dtypes)
    if isinstance(body, Compute):
        kind = "returns" if is_composed(scope.spec) else "compute"
        return views.Kernel(kind, device, arguments=tuple(_computed(scope, body)))
    if isinstance(body, Mindspore):
        tensors = [Name(argument.name) for argument in scope.tensors()]
        args = tensors if body.args is None else [formula.expr for formula in body.args]
        options = tuple(views.Option(name, scope.emitter.text(v.expr)) for name, v in body.attrs.items())
        values = tuple(map(scope.emitter.text, args))
        return views.Kernel("mindspore", device, quoted(body.primitive), values, options)
    base = body.base
    scope.emitter.torch()
    operator = attribute("torch.ops", base.namespace or "", base.name, base.overload or "default")
    return views.Kernel("variant_of", callee=operator)


def _computed(scope: Scope, body: Compute) -> Iterable[str]:
    """The outputs: one for an argument that is written to is copied into it, unless it was made in place."""
    returns = scope.schema.returns
    targets = [aliased_argument(scope.schema, ret) for ret in returns]
    for i, formula in enumerate(body.formulas):
        text = scope.emitter.text(formula.expr)
        target = targets[i] if len(body.formulas) == len(returns) else None
        if target is None or _is_in_place(formula.expr):
            yield text
        else:
            yield f"{scope.read(target.name)}.copy_({text})"


def _launch(
    scope: Scope, body: Launch, launchers: Mapping[tuple[str, ...], str], device: str, dtypes: tuple[str, ...]
) -> views.Kernel:
    helper, emitter = scope.emitter.helper, scope.beside({})
    where = scope.first() or _first_output(scope)
    found: list[tuple[str, str]] = []
    if body.workspace is not None:
        scratch = scope.local.unique("scratch")
        found.append((scratch, f"{helper('workspace')}({emitter.text(body.workspace.expr)}, {where})"))
        emitter.rename = {**emitter.rename, "workspace": scratch}
    if body.tiling:
        name = scope.local.unique("tiling")
        fields = ", ".join(by_name(f, _typed(emitter, arg, where)) for f, arg in body.tiling.items())
        found.append((name, f"{helper('struct')}({fields})"))
        emitter.rename = {**emitter.rename, "tiling": name}
    named = {node.id for arg in body.args for node in walk(arg.value.expr) if isinstance(node, Name)}
    if "stream" in named:
        emitter.rename = {"stream": f"{helper('stream')}({where})", **emitter.rename}
    if "context" in named - scope.arguments.keys():
        emitter.rename = {"context": f"{helper('context')}()", **emitter.rename}
    key = launcher_key(body)
    arguments = tuple(_typed(emitter, arg, where) for arg in body.args)
    options = []
    if body.block_dim is not None:
        options.append(views.Option("block_dim", emitter.text(body.block_dim.expr)))
    if dtypes:
        options.append(views.Option("dtypes", f"[{_dtypes(scope, dtypes)}]"))
    if body.abi != ("ascendc" if device == '"NPU"' else "c"):
        options.append(views.Option("abi", quoted(body.abi)))
    callee = f"{launchers[key]}[{quoted(body.symbol)}]"
    return views.Kernel("launch", device, callee, arguments, tuple(options), tuple(found))


def _first_output(scope: Scope) -> str:
    """The first output, noted as read: it becomes a variable."""
    name, spelled = next(iter(scope.outputs.items()))
    scope.emitter.read.add(name)
    return spelled


def _typed(emitter: DefinitionEmitter, arg: KernelArg, where: str) -> str:
    """What a kernel gets, with its C type; data that is uploaded goes to the device of ``where``."""
    expr = arg.value.expr
    if arg.type in ("ptr", "host"):
        return emitter.text(expr)
    if arg.type == "upload":
        return f"{emitter.helper('upload')}({emitter.text(expr)}, {where})"
    inner = expr.arguments[0] if isinstance(expr, Call) and arg.type != "desc" else expr
    match inner:
        case Call(function=Name(id="float"), arguments=(value,)) if arg.type in C_FLOATS:
            inner = value  # the launch makes a float of it
    return f"{emitter.helper(arg.type)}({emitter.text(inner)})"


def _is_in_place(expr: Expr) -> bool:
    """Whether an expression is the call of an in-place operator."""
    return (
        isinstance(expr, Call)
        and isinstance(expr.function, Operator)
        and expr.function.name.endswith("_")
        and not expr.function.name.endswith("__")
    )
