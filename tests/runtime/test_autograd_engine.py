"""The engine where its options meet: chosen inputs, hooks, retained gradients, modes, re-entry; beside PyTorch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree
from tests.runtime.semantics import leaf, raises


def inputs_that_are_no_leaves(torch: Any) -> Any:
    w = leaf(torch)
    h = w * 2
    (h * h).sum().backward(inputs=[h, w], retain_graph=True)
    (h * 3).sum().backward(inputs=h)
    return h.grad, w.grad


def inputs_leave_others_alone(torch: Any) -> Any:
    w, v = leaf(torch), leaf(torch)
    (w * v).sum().backward(inputs=[v])
    return w.grad, v.grad


def retained_after_hooks(torch: Any) -> Any:
    w = leaf(torch)
    h = w * 2
    h.retain_grad()
    h.register_hook(lambda g: g * 10)
    h.retain_grad()
    (h * 3).sum().backward()
    return h.grad, h.retains_grad, w.retains_grad, w.grad


def hooks_in_order(torch: Any) -> Any:
    w, seen = leaf(torch), []
    h = w * 2
    node = h.grad_fn
    h.register_hook(lambda g: seen.append(("first", g.tolist())) or g + 1)
    h.register_hook(lambda g: seen.append(("second", g.tolist())))
    node.register_prehook(lambda gs: seen.append(("before", gs[0].tolist())) or (gs[0] * 2,))
    node.register_hook(lambda ins, outs: seen.append(("after", ins[0].tolist(), outs[0].tolist())))
    w.register_hook(lambda g: seen.append(("leaf", g.tolist())))
    w.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", t.grad.tolist())))
    h.sum().backward()
    return seen


def many_branches(torch: Any) -> Any:
    """More nodes, and more of them waiting at once, than a small graph has; a hook runs such a pass within another."""
    w, seen = leaf(torch), []

    def branches(t: Any) -> Any:
        return sum(((t * i).sin() for i in range(1, 60)), t)

    def inner(g: Any) -> None:
        v = leaf(torch)
        with torch.enable_grad():
            total = branches(v).sum()
        total.backward()
        seen.append(v.grad)

    out = branches(w)
    out.register_hook(inner)
    chosen = torch.autograd.grad([out.sum(), (w * 2).sum()], [w], retain_graph=True)
    out.backward(torch.ones_like(out))
    return seen, chosen, w.grad


def shapes_of_many_dimensions(torch: Any) -> Any:
    w = torch.arange(4.0).reshape(1, 1, 2, 1, 2, 1).requires_grad_()
    (w.expand(2, 1, 2, 3, 2, 1) * 2).sum().backward()
    a, b = (w * 3).split(1, 2)
    (a * a).sum().backward()
    return w.grad, b.shape


def hooks_see_the_sum(torch: Any) -> Any:
    """A hook runs once a pass, with what all paths brought."""
    w, seen = leaf(torch), []
    h = w * 2
    h.register_hook(lambda g: seen.append(g.tolist()))
    (h * 3 + h * h + h).sum().backward()
    return seen


def hook_under_create_graph(torch: Any) -> Any:
    w = leaf(torch)
    h = w * w
    h.register_hook(lambda g: g * h)
    (g,) = torch.autograd.grad(h.sum(), w, create_graph=True)
    g.sum().backward()
    return g, w.grad


def batched(torch: Any) -> Any:
    w, v = leaf(torch), leaf(torch, 3.0, 4.0)
    y = w * v
    grads = torch.autograd.grad(y, (w, v), torch.eye(2), is_grads_batched=True, create_graph=True)
    return [g.detach() for g in grads], [g.requires_grad for g in grads]


def walk(torch: Any) -> Any:
    """`next_functions` names the graph the way down."""
    w = leaf(torch)
    names, node = [], ((w * 2).exp() + 1).sum().grad_fn
    while node is not None:
        names.append(node.name().rsplit("::", 1)[-1])
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def nested_packing(torch: Any) -> Any:
    events: list[str] = []

    def hooks(name: str) -> Any:
        return torch.autograd.graph.saved_tensors_hooks(
            lambda t: events.append(f"pack {name}") or t, lambda t: events.append(f"unpack {name}") or t
        )

    w = leaf(torch)
    with hooks("outer"):
        a = w.sin()
        with hooks("inner"):
            b = w.cos()
        c = w.exp()
    (a + b + c).sum().backward()
    return sorted(events), w.grad


def one_leaf_in_several_threads(torch: Any) -> Any:
    w = leaf(torch, 1.0)
    outputs = [(w * k).sum() for k in range(1, 9)]
    threads = [threading.Thread(target=y.backward) for y in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return w.grad


def modes_as_decorators(torch: Any) -> Any:
    @torch.no_grad()
    def off(x: Any) -> Any:
        return x * 2

    @torch.enable_grad()
    def on(x: Any) -> Any:
        return x * 2

    @torch.set_grad_enabled(False)
    def also_off(x: Any) -> Any:
        return x * 2

    w = leaf(torch)
    with torch.no_grad():
        inside = on(w).requires_grad
    return off(w).requires_grad, also_off(w).requires_grad, inside, torch.is_grad_enabled(), off.__name__


def after_errors(torch: Any) -> Any:
    """Each mistake leaves a graph that still runs."""
    w = leaf(torch)
    y = w * w
    found = [
        raises(y.backward),
        raises(lambda: y.backward(torch.ones(3))),
        raises(lambda: torch.autograd.grad(y.sum(), torch.ones(2))),
        raises(lambda: torch.autograd.grad(y.sum(), leaf(torch), retain_graph=True)),
    ]
    y.sum().backward()
    return found, w.grad


def backward_inside_a_hook(torch: Any) -> Any:
    w, v = leaf(torch), leaf(torch)
    h = w * 2

    def hook(g: Any) -> None:
        with torch.enable_grad():
            (v * g.detach()).sum().backward()

    h.register_hook(hook)
    (h * 3).sum().backward()
    return w.grad, v.grad


CASES = (
    inputs_that_are_no_leaves, inputs_leave_others_alone, retained_after_hooks, hooks_in_order, hooks_see_the_sum,
    many_branches, shapes_of_many_dimensions,
    hook_under_create_graph, batched, walk, nested_packing, one_leaf_in_several_threads, modes_as_decorators,
    after_errors, backward_inside_a_hook,
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_engine(case: Callable[[Any], Any]) -> None:
    agree(case)


def batched(torch: Any, starts: Any) -> Any:
    x = leaf(torch, 1.0, 2.0, 3.0)
    return torch.autograd.grad((x * 2, x * 3), x, starts(torch), is_grads_batched=True)


@pytest.mark.parametrize(
    ("starts", "kind"),
    [
        (lambda t: (t.ones(2, 3), t.ones(4, 3)), ValueError),
        (lambda t: (t.ones(()), t.ones(2, 3)), IndexError),
        (lambda t: (t.ones(0, 3), t.ones(0, 3)), IndexError),
        (lambda t: None, RuntimeError),
        (lambda t: (t.ones(2, 3), t.ones(2, 4)), RuntimeError),
    ],
)
def test_batches_of_gradients_that_do_not_fit(starts: Callable[[Any], Any], kind: type[Exception]) -> None:
    agree(lambda torch: batched(torch, starts), "")
    with pytest.raises(kind):
        batched(mindtorch_v2, starts)


def test_inputs_may_be_a_dict() -> None:
    def case(torch: Any) -> Any:
        x, y = leaf(torch, 1.0), leaf(torch, 2.0)
        torch.autograd.backward(x * y, inputs={"x": x})
        return torch.autograd.grad(x * y, {"y": y, "x": x}), x.grad, y.grad

    agree(case)


def test_an_edge_has_room_for_an_owner() -> None:
    def case(torch: Any) -> Any:
        graph = torch.autograd.graph
        edges = graph.get_gradient_edge(leaf(torch, 1.0)), graph.get_gradient_edge(leaf(torch, 1.0) * 2)
        return [(edge[1:], len(edge)) for edge in edges]

    agree(case)


def test_the_obsolete_name_of_the_gradients() -> None:
    def case(torch: Any, **given: Any) -> Any:
        x = leaf(torch, 1.0, 2.0)
        torch.autograd.backward(x * 2, grad_variables=torch.ones(2), **given)
        return x.grad

    agree(case)
    agree(lambda torch: case(torch, grad_tensors=torch.ones(2)), "grad_variables")


def edge_of(torch: Any, tensor: Any) -> Any:
    return torch.autograd.graph.get_gradient_edge(tensor)


def with_edges(torch: Any, use: Callable[[Any, Any, Any, Any], Any]) -> Any:
    """What ``use`` gives of torch, a leaf, what is made of it, and a sum of that."""
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    middle = leaf * 2
    return use(torch, leaf, middle, (middle * 3).sum())


EDGES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "a leaf's": lambda t, leaf, middle, total: t.autograd.grad(total, edge_of(t, leaf)),
    "a result's": lambda t, leaf, middle, total: t.autograd.grad(total, [edge_of(t, middle)]),
    "beside a tensor": lambda t, leaf, middle, total: t.autograd.grad(total, [leaf, edge_of(t, middle)]),
    "by name": lambda t, leaf, middle, total: t.autograd.grad(total, {"a": edge_of(t, middle)})["a"],
    "of one of several results": lambda t, leaf, middle, total: t.autograd.grad(
        *(lambda a, b: (a + 5 * b, edge_of(t, b)))(*middle.unbind())
    ),
    "unused": lambda t, leaf, middle, total: t.autograd.grad(total, edge_of(t, leaf * 1), allow_unused=True),
    "backward to a leaf's": lambda t, leaf, middle, total: [total.backward(inputs=[edge_of(t, leaf)]), leaf.grad],
    "backward to a result's": lambda t, leaf, middle, total: [
        t.autograd.backward(total, inputs=edge_of(t, middle)), leaf.grad
    ],
    "twice": lambda t, leaf, middle, total: t.autograd.grad(
        t.autograd.grad((middle * middle).sum(), edge_of(t, middle), create_graph=True)[0].sum(), leaf
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_gradients_with_respect_to_edges(name: str) -> None:
    agree(lambda torch: with_edges(torch, EDGES[name]))


@pytest.mark.parametrize(
    ("use", "quoted"),
    [
        (lambda t, leaf, middle, total: t.autograd.grad(total, edge_of(t, leaf * 1)), "not have been used"),
        (
            lambda t, leaf, middle, total: t.autograd.grad(total, edge_of(t, leaf * 1), materialize_grads=True),
            "materialize_grads cannot be used",
        ),
        (
            lambda t, leaf, middle, total: t.autograd.grad(total, t.autograd.graph.GradientEdge(None, 0)),
            "first object must be an autograd.graph.Node but got NoneType",
        ),
    ],
)
def test_edges_that_are_refused(use: Callable[[Any, Any, Any, Any], Any], quoted: str) -> None:
    agree(lambda torch: with_edges(torch, use), quoted)


@pytest.mark.parametrize("depth", [10, 400])
def test_passes_inside_one_another(depth: int) -> None:
    """Those that are deep go on in other threads, in the state of this one."""

    def case(torch: Any) -> Any:
        modes: list[Any] = []

        class Deep(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                with torch.enable_grad():
                    ctx.x = x.detach().requires_grad_() - 1
                return ctx.x.detach()

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                if ctx.x < 0:
                    modes.append(torch.is_autocast_enabled("cpu"))
                    return grad
                with torch.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
                return grad * 2

        x = torch.tensor(float(depth), requires_grad=True)
        with torch.autocast("cpu"):
            Deep.apply(x).sum().backward()
        return x.grad, modes

    agree(case)


def test_an_error_in_a_pass_of_another_thread_arrives() -> None:
    def case(torch: Any) -> Any:
        class Deep(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.x = x.detach() - 1
                return x * 1

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                if ctx.x < 0:
                    raise ValueError("at the bottom")
                with torch.enable_grad():
                    Deep.apply(ctx.x.requires_grad_()).sum().backward()
                return grad

        Deep.apply(torch.tensor(100.0, requires_grad=True)).backward()

    agree(case, "at the bottom")
