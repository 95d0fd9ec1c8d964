"""What gradient formulas save, and how they are rewritten to use it."""

import pytest

from mtcodegen.expr import OperatorTable, Purpose, SavedValues, parse_expression, reads, resolve, scope_for
from mtcodegen.pycode.expressions import to_python
from opschema import parse_schema
from tests.codegen.support import of_context

TABLE = OperatorTable(
    {
        schema.qualname: schema
        for schema in map(
            parse_schema,
            [
                "aten::exp(Tensor self) -> Tensor",
                "aten::expand(Tensor self, int[] size) -> Tensor",
                "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
                "fused::g(Tensor grad, float scale) -> Tensor",
            ],
        )
    }
)
ONE = "fused::f(Tensor x, Tensor y, *, float scale=1.0) -> Tensor"
TWO = "fused::f(Tensor x, Tensor? w, Tensor[] xs, int dim) -> (Tensor out, Tensor mean)"
BARE = "fused::f(Tensor x) -> (Tensor, Tensor)"

# (schema, formulas, what is saved, the formulas as they are emitted)
CASES = [
    (ONE, ["grad", "grad * scale"], ["value scale"], ["grad", "grad * ctx.scale"]),
    (ONE, ["g(grad, scale)"], ["value scale"], ["torch.ops.fused.g(grad, ctx.scale)"]),
    (ONE, ["grad * y", "grad * x"], ["tensor x", "tensor y"], ["grad * y", "grad * x"]),
    (ONE, ["grad * result"], ["output result"], ["grad * result"]),
    (ONE, ["grad * result0 * out"], ["output result"], ["grad * result * result"]),
    (ONE, ["grads[0] + grads[-1]"], [], ["grad + grad"]),
    (ONE, ["grad.expand(x.shape)"], ["property x_shape = x.shape"], ["grad.expand(ctx.x_shape)"]),
    (ONE, ["grad * x.size(0) * x.size(1)"], ["property x_shape = x.shape"], ["grad * ctx.x_shape[0] * ctx.x_shape[1]"]),
    (ONE, ["grad.expand(x.size())"], ["property x_shape = x.shape"], ["grad.expand(ctx.x_shape)"]),
    (
        ONE,
        ["grad * x.numel() / y.numel() * x.dim() * x.ndim"],
        ["property x_numel = x.numel()", "property x_ndim = x.ndim", "property y_numel = y.numel()"],
        ["grad * ctx.x_numel / ctx.y_numel * ctx.x_ndim * ctx.x_ndim"],
    ),
    (ONE, ["grad * x.dtype.itemsize"], ["property x_dtype = x.dtype"], ["grad * ctx.x_dtype.itemsize"]),
    (ONE, ["grad * result.numel()"], ["property result_numel = result.numel()"], ["grad * ctx.result_numel"]),
    # Once the tensor is saved whole, its shape comes with it.
    (ONE, ["grad * x.numel()", "grad * x"], ["tensor x"], ["grad * x.numel()", "grad * x"]),
    (ONE, ["grad * x.mT"], ["tensor x"], ["grad * x.mT"]),
    (ONE, ["grad * exp(x).numel()"], ["tensor x"], ["grad * torch.exp(x).numel()"]),
    (
        TWO,
        ["grads[0] * mean + grad_mean if w is not None else grad_out"],
        ["property has_w = w is not None", "output mean"],
        ["grad0 * mean + grad1 if ctx.has_w else grad0"],
    ),
    (TWO, ["grad_out * w if w is not None else grad_out"], ["tensor w"], ["grad0 * w if w is not None else grad0"]),
    (
        TWO,
        ["grad_out * x.size(dim)"],
        ["property x_shape = x.shape", "value dim"],
        ["grad0 * ctx.x_shape[ctx.dim]"],
    ),
    (TWO, ["grad_out * len(xs)"], ["property xs_len = len(xs)"], ["grad0 * ctx.xs_len"]),
    (TWO, ["grad_out * xs[0].numel()"], ["property xs_0_numel = xs[0].numel()"], ["grad0 * ctx.xs_0_numel"]),
    (TWO, ["grad_out * xs[0]"], ["tensor xs"], ["grad0 * xs[0]"]),
    (TWO, ["stack(grads)"], [], ["torch.stack((grad0, grad1))"]),
    (BARE, ["grad1 * result1"], ["output result1"], ["grad1 * result1"]),
    # A name that ends in another name, or stands in a string, is not that other name.
    ("fused::f(Tensor x, Tensor yx, str s) -> Tensor", ["grad * yx.numel()"], ["property yx_numel = yx.numel()"], None),
    ("fused::f(Tensor x, str s) -> Tensor", ["grad if s == 'x.shape' else -grad"], ["value s"], None),
    # A property never takes the name of an argument.
    ("fused::f(Tensor x, int x_numel) -> Tensor", ["grad * x.numel() * x_numel"],
     ["property x_numel_ = x.numel()", "value x_numel"], ["grad * ctx.x_numel_ * ctx.x_numel"]),
]  # fmt: skip


@pytest.mark.parametrize(("signature", "formulas", "expected", "emitted"), CASES, ids=[str(case[1]) for case in CASES])
def test_saved(signature: str, formulas: list[str], expected: list[str], emitted: list[str] | None) -> None:
    schema = parse_schema(signature)
    scope = scope_for(schema, Purpose.BACKWARD, TABLE)
    exprs = [resolve(parse_expression(formula), scope) for formula in formulas]
    saved = SavedValues(exprs, schema)
    listed = []
    for item in saved.items:
        source = to_python(item.expr)
        listed.append(f"{item.kind.value} {item.attr_name}" + (f" = {source}" if item.kind.value == "property" else ""))
    assert listed == expected
    if emitted is not None:
        assert [to_python(saved.used_in(expr), of_context(saved.items)) for expr in exprs] == emitted


def test_output_positions() -> None:
    schema = parse_schema(TWO)
    saved = SavedValues([parse_expression("grads[0] * mean * out.numel() * dim")], schema)
    assert [(item.name, item.output) for item in saved.items] == [("dim", None), ("out", 0), ("mean", 1)]


def test_reads() -> None:
    found = reads(parse_expression("exp(x.shape) + y.size(n)[0] * f(z, k=x) + w.foo"))
    assert [(read.name, read.attr) for read in found] == [
        ("x", "x_shape"),
        ("y", "y_shape"),
        ("n", ""),
        ("z", ""),
        ("x", ""),
        ("w", ""),
    ]
