"""Names and types of expressions: what is accepted, with its type, and every fault with its place."""

import pytest

from mtcodegen.expr import (
    BOOL,
    INT,
    SHAPE,
    TENSOR,
    OperatorTable,
    Purpose,
    ValueType,
    analyze,
    check_expression,
    check_kernel_argument,
    parse_expression,
    scope_for,
)
from mtcodegen.expr.nodes import ListExpr, Name, Unary, map_children, with_parts
from mtcodegen.pycode.expressions import to_python
from opschema import Schema, parse_schema

SCHEMAS = {
    schema.qualname: schema
    for schema in map(
        parse_schema,
        [
            "fused::scaled_add(Tensor x, Tensor y, *, float scale=1.0) -> Tensor",
            "fused::scaled_add_grad(Tensor grad, float scale) -> Tensor",
            "fused::norm(Tensor x, Tensor? w, int[] dims, Scalar eps=1, Tensor[] xs=[], bool flag=True, "
            "ScalarType? dtype=None, int? n=None, str mode='a') -> (Tensor y, Tensor mean)",
            "fused::add_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
            "aten::exp(Tensor self) -> Tensor",
            "aten::abs(Tensor self) -> Tensor",
            "aten::sum(Tensor self) -> Tensor",
            "aten::sum.dim(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor",
            "aten::permute(Tensor self, int[] dims) -> Tensor",
            "aten::topk(Tensor self, int k, *, bool largest=True) -> (Tensor values, Tensor indices)",
        ],
    )
}
TABLE = OperatorTable(SCHEMAS)
ADD, NORM, ADD_ = SCHEMAS["fused::scaled_add"], SCHEMAS["fused::norm"], SCHEMAS["fused::add_"]
CHECK, FAKE, LAUNCH, COMPUTE, BACKWARD, WHEN, *_ = Purpose


def check(
    text: str, schema: Schema, purpose: Purpose, expected: ValueType | None = None
) -> tuple[str, list[tuple[str, str, str, str]]]:
    type_, errors = check_expression(parse_expression(text), scope_for(schema, purpose, TABLE), expected)
    faults = [(text[e.offset : e.offset + e.length], e.code.name, e.message, e.hint or "") for e in errors]
    return str(type_), faults


ACCEPTED = [
    (ADD, CHECK, "x.shape == y.shape", "bool", "x.shape == y.shape"),
    (ADD, CHECK, "x.dtype in [float16, torch.float32]", "bool", "x.dtype in (torch.float16, torch.float32)"),
    (ADD, CHECK, "x.device.type == 'npu' and 0 < x.ndim <= 4", "bool", 'x.device.type == "npu" and 0 < x.ndim <= 4'),
    (ADD, WHEN, "x.is_contiguous() and not x.numel() % 8 != 0", "bool", "x.is_contiguous() and not x.numel() % 8 != 0"),
    (ADD, FAKE, "x.shape[:-1] + [2 * x.size(-1)]", "int[]", "(*x.shape[:-1], 2 * x.size(-1))"),
    (ADD, FAKE, "broadcast_shapes(x.shape, y.shape)", "int[]", "torch.broadcast_shapes(x.shape, y.shape)"),
    (ADD, FAKE, "promote_types(x.dtype, float32)", "dtype", "torch.promote_types(x.dtype, torch.float32)"),
    (ADD, FAKE, "result_type(x, scale)", "dtype", "torch.result_type(x, scale)"),
    (ADD, FAKE, "[1] * x.dim()", "int[]", "(1,) * x.dim()"),
    (ADD, FAKE, "x.device", "device", "x.device"),
    (ADD, LAUNCH, "min(ceil_div(x.numel(), 2048), 40)", "int", "min(npu.ceil_div(x.numel(), 2048), 40)"),
    (ADD, LAUNCH, "f32(scale)", "f32", "npu.f32(scale)"),
    (ADD, LAUNCH, "u32(x.numel())", "u32", "npu.u32(x.numel())"),
    (ADD, LAUNCH, "contiguous(x)", "Tensor", "x.contiguous()"),
    (ADD, LAUNCH, "sizeof(x.dtype) * x.numel()", "int", "x.dtype.itemsize * x.numel()"),
    (ADD, LAUNCH, "out", "Tensor", "out"),
    (ADD, LAUNCH, "workspace", "pointer", "workspace"),
    (ADD, COMPUTE, "x + scale * y", "Tensor", "x + scale * y"),
    (ADD, COMPUTE, "x @ y.mT", "Tensor", "x @ y.mT"),
    (ADD, COMPUTE, "abs(x) * abs(scale)", "Tensor", "torch.abs(x) * abs(scale)"),
    (ADD, COMPUTE, "topk(x, k=2)[0]", "Tensor", "torch.topk(x, k=2)[0]"),
    (ADD, BACKWARD, "grad * scale", "Tensor", "grad * scale"),
    (ADD, BACKWARD, "scaled_add_grad(grad, scale)", "Tensor", "torch.ops.fused.scaled_add_grad(grad, scale)"),
    (ADD, BACKWARD, "fused.scaled_add_grad(grad, scale=2)", "Tensor", "torch.ops.fused.scaled_add_grad(grad, scale=2)"),
    (ADD, BACKWARD, "torch.exp(result).sum(0, keepdim=True)", "Tensor", "torch.exp(result).sum(0, keepdim=True)"),
    (ADD, BACKWARD, "aten.sum.dim(grad, [0])", "Tensor", "torch.ops.aten.sum.dim(grad, (0,))"),
    (ADD, BACKWARD, "grad.permute(1, 0)[0]", "Tensor", "grad.permute(1, 0)[0]"),
    (ADD, BACKWARD, "grad * (x > 0)", "Tensor", "grad * (x > 0)"),
    (ADD, BACKWARD, "None", "None", "None"),
    (NORM, BACKWARD, "grads[0] * mean + grad_mean * y", "Tensor", "grads[0] * mean + grad_mean * y"),
    (
        NORM,
        BACKWARD,
        "grad_y * w if w is not None else grads[-1]",
        "Tensor",
        "grad_y * w if w is not None else grads[-1]",
    ),
    (NORM, BACKWARD, "w is None and flag or w is not None and w.ndim == 1", "bool", ""),
    (NORM, CHECK, "w is None or w.shape == x.shape[1:]", "bool", "w is None or w.shape == x.shape[1:]"),
    (NORM, CHECK, "not (w is None) and w.ndim == 1", "bool", "not w is None and w.ndim == 1"),
    (NORM, CHECK, "dims == x.shape[1:]", "bool", "tuple(dims) == x.shape[1:]"),
    (NORM, CHECK, "x.ndim in dims", "bool", "x.ndim in dims"),
    (NORM, CHECK, "mode in ('a', 'b') and len(xs) > 0", "bool", 'mode in ("a", "b") and len(xs) > 0'),
    (NORM, FAKE, "dtype if dtype is not None else x.dtype", "dtype", "dtype if dtype is not None else x.dtype"),
    (NORM, FAKE, "[*dims, xs[0].shape[1], max(dims)]", "int[]", "(*dims, xs[0].shape[1], max(dims))"),
    (NORM, FAKE, "[n if n is not None else 1]", "int[]", "(n if n is not None else 1,)"),
    (NORM, LAUNCH, "y", "Tensor", "y"),
    (NORM, LAUNCH, "f64(eps)", "f64", "npu.f64(eps)"),
    (NORM, LAUNCH, "bool(flag)", "bool", "npu.bool_(flag)"),
    (ADD_, BACKWARD, "grad * result + self.numel()", "Tensor", "grad * result + self.numel()"),
]


@pytest.mark.parametrize(("schema", "purpose", "text", "type_", "source"), ACCEPTED, ids=[row[2] for row in ACCEPTED])
def test_accepted(schema: Schema, purpose: Purpose, text: str, type_: str, source: str) -> None:
    assert check(text, schema, purpose) == (type_, [])
    if source:
        assert to_python(analyze(parse_expression(text), scope_for(schema, purpose, TABLE)).expr) == source


# (schema, purpose, expression with the fault between « and », code, message, hint)
FAULTS = [
    (ADD, BACKWARD, "grad * «sclae»",
     "MT204", "`sclae` is not an argument of fused::scaled_add", "did you mean `scale`?"),
    (ADD, BACKWARD, "grad * «true»", "MT204", "`true` is not an argument of fused::scaled_add", "write `True`"),
    (ADD, CHECK, "«ceil_div» == 1", "MT218", "`ceil_div` is a function and is not called", "write `ceil_div(...)`"),
    (ADD, BACKWARD, "«torch.exp» * 1", "MT218", "`torch.exp` is not a value", "write `torch.exp(...)`"),
    (ADD, CHECK, "x.«shap» == y.shape", "MT205", "Tensor has no attribute `shap`", "did you mean `shape`?"),
    (ADD, CHECK, "«x.shape()» == y.shape", "MT219", "`shape` is a property", "write `.shape`"),
    (ADD, CHECK, "«x.numel» > 0", "MT218", "`numel` is a method", "write `.numel()`"),
    (ADD, CHECK, "x.dtype.«itemsze» > 0", "MT205", "dtype has no attribute `itemsze`", "did you mean `itemsize`?"),
    (ADD, CHECK, "scale.«shape» == 1", "MT205", "float has no attribute `shape`", ""),
    (ADD, BACKWARD, "grad.«permut»(0)", "MT205", "Tensor has no method `permut`", "did you mean `permute`?"),
    (ADD, LAUNCH, "«ceildiv»(1, 2)",
     "MT206", "`ceildiv` is not a function or a declared operator", "did you mean `ceil_div`?"),
    (ADD, BACKWARD, "«fused.scaled_ad_grad»(grad)",
     "MT206", "`fused.scaled_ad_grad` is not a function or a declared operator", "did you mean `scaled_add_grad`?"),
    (ADD, LAUNCH, "«uint32_t»(1)", "MT206", "`uint32_t` is not a function or a declared operator", "write `u32(...)`"),
    (ADD, CHECK, "«x»(1)", "MT219", "`x` is Tensor, not a function", ""),
    (ADD, LAUNCH, "«ceil_div(1)»", "MT207", "`ceil_div` takes 2 arguments, not 1", ""),
    (ADD, LAUNCH, "«min()»", "MT207", "`min` takes at least 1 argument, not 0", ""),
    (ADD, LAUNCH, "min(«a=1»)", "MT223", "`min` takes no keyword arguments", ""),
    (ADD, BACKWARD, "«scaled_add_grad(grad)»",
     "MT222", "fused::scaled_add_grad needs argument `scale`",
     "it is fused::scaled_add_grad(Tensor grad, float scale) -> Tensor"),
    (ADD, BACKWARD, "scaled_add_grad(grad, 1, «2»)",
     "MT207", "fused::scaled_add_grad takes at most 2 positional arguments, not 3",
     "it is fused::scaled_add_grad(Tensor grad, float scale) -> Tensor"),
    (ADD, BACKWARD, "scaled_add_grad(grad, 1, «grad=x»)",
     "MT224", "fused::scaled_add_grad gets argument `grad` twice", ""),
    (ADD, BACKWARD, "scaled_add_grad(grad, 1, «scal=x»)",
     "MT223", "fused::scaled_add_grad has no argument `scal`", "did you mean `scale`?"),
    (ADD, CHECK, "«x.numel(1)» > 0", "MT207", "`numel` takes no arguments", ""),
    (ADD, LAUNCH, "ceil_div(«scale», 2)", "MT208", "an argument of `ceil_div` must be int, not float", ""),
    (ADD, LAUNCH, "u32(«scale»)",
     "MT208", "the value of `u32` must be int, not float", "pass it as `f32(...)` or `f64(...)`"),
    (ADD, LAUNCH, "f32(«x.numel()»)", "MT208", "the value of `f32` must be float, not int",
     "pass it as `i64(...)`, or as `f32(float(...))` if the kernel takes a float"),
    (ADD, LAUNCH, "f64(«x.is_complex()»)", "MT208", "the value of `f64` must be float, not bool",
     "pass it as `bool(...)`, or as `f64(float(...))` if the kernel takes a float"),
    (ADD, LAUNCH, "u8(«256»)", "MT230", "`u8` has numbers from 0 to 255, and not 256", ""),
    (ADD, LAUNCH, "u32(«-1»)", "MT230", "`u32` has numbers from 0 to 4294967295, and not -1", ""),
    (ADD, LAUNCH, "i16(«32768»)", "MT230", "`i16` has numbers from -32768 to 32767, and not 32768", ""),
    (ADD, BACKWARD, "scaled_add_grad(«scale», «x»)",
     "MT208", "argument `grad` of fused::scaled_add_grad must be Tensor, not float", ""),
    (ADD, BACKWARD, "«sum(x, 'a')»",
     "MT229", "no overload of aten::sum takes (Tensor, str)",
     "there are aten::sum(Tensor self) -> Tensor; aten::sum.dim(Tensor self, int[1]? dim, bool keepdim=False) "
     "-> Tensor"),
    (ADD, CHECK, "«x.shape + 1» == y.shape", "MT209", "`+` does not go with int[] and int", ""),
    (ADD, CHECK, "«x.shape == 1»", "MT209", "`==` cannot compare int[] with int", ""),
    (ADD, CHECK, "«x.dtype < y.dtype»", "MT209", "`<` cannot compare dtype with dtype", ""),
    (ADD, CHECK, "«x == None»", "MT209", "`==` does not compare with None", "write `is None`"),
    (ADD, CHECK, "x.dim() > 1 or «-1» is None", "MT209", "a constant is never None", ""),
    (ADD, CHECK, "«x is y»", "MT209", "`is` compares with None only", "write `==`"),
    (ADD, CHECK, "«x.dtype in 'a'»", "MT209", "`in` takes a list on its right, not str", ""),
    (ADD, CHECK, "«x.numel()» and True",
     "MT209", "a condition is true or false, and this is int", "compare it, for instance `!= 0`"),
    (ADD, BACKWARD, "grad if «x» else y",
     "MT209", "a condition is true or false, and this is Tensor", "the values of a tensor are not one condition"),
    (ADD, FAKE, "«x.shape if True else 1»", "MT209", "one branch is int[], the other int", ""),
    (ADD, CHECK, "«-x.dtype» == 1", "MT209", "`-` takes a number or a tensor, not dtype", ""),
    (ADD, BACKWARD, "«0 < x < 1»", "MT209", "a comparison of tensors cannot be chained", ""),
    (ADD, CHECK, "«grad» == 1", "MT211", "`grad` exists only in `backward`", ""),
    (ADD, FAKE, "«workspace»", "MT211", "`workspace` exists only in kernel arguments", ""),
    (ADD, FAKE, "«exp»(x)",
     "MT211", "a shape rule cannot call the operator aten::exp", "operators belong to formulas and `compute`"),
    (ADD, FAKE, "sqrt(«x»)", "MT208", "an argument of `sqrt` must be Scalar, not Tensor", ""),
    (ADD, FAKE, "«fused.scaled_add_grad»(x, 1)",
     "MT211", "a shape rule cannot call the operator fused::scaled_add_grad",
     "operators belong to formulas and `compute`"),
    (ADD, FAKE, "«contiguous»(x)", "MT211", "`contiguous` cannot be used in a shape rule", ""),
    (ADD, BACKWARD, "grad * «f32»(scale)", "MT211", "`f32(...)` is a C type, which only kernel arguments have", ""),
    (ADD, COMPUTE, "«scaled_add»(x, y)", "MT217", "fused::scaled_add would call itself", ""),
    (NORM, CHECK, "«w».ndim == 1", "MT212", "`w` may be None", "test `w is not None` first"),
    (NORM, BACKWARD, "grad_y * «w»", "MT212", "`w` may be None", "test `w is not None` first"),
    (NORM, BACKWARD, "grad_y if w is not None else «w».T", "MT212", "`w` may be None", "test `w is not None` first"),
    (NORM, FAKE, "«n» + 1", "MT212", "`n` may be None", "test `n is not None` first"),
    (NORM, LAUNCH, "i64(«n»)",
     "MT212", "the value of `i64` must be int, and this may be None", "test `is not None` first"),
    (ADD, CHECK, "«x == y»",
     "MT213", "a precondition cannot read the values of a tensor", "use its `shape`, `dtype` or another property"),
    (ADD, LAUNCH, "«x[0]»",
     "MT213", "a launch argument cannot read the values of a tensor", "use its `shape`, `dtype` or another property"),
    (NORM, BACKWARD, "grads[«2»]", "MT214", "the index 2 is out of range: there are 2", ""),
    (NORM, BACKWARD, "grads[«x.ndim»]", "MT214", "the index of several results is a literal number", ""),
    (ADD, CHECK, "x.shape[«1.5»] == 1", "MT214", "an index is an integer, not float", ""),
    (ADD, CHECK, "scale[«0»] == 1", "MT214", "float cannot be indexed", ""),
    (ADD_, BACKWARD, "grad * «self»", "MT216", "fused::add_ overwrites `self`", "use `result`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "purpose", "marked", "code", "message", "hint"), FAULTS, ids=[row[2] for row in FAULTS]
)
def test_fault(schema: Schema, purpose: Purpose, marked: str, code: str, message: str, hint: str) -> None:
    place = marked[marked.index("«") + 1 : marked.index("»")]
    _, faults = check(marked.replace("«", "").replace("»", ""), schema, purpose)
    assert faults[0] == (place, code, message, hint)
    assert len(faults) == marked.count("«")


def test_all_faults_are_found_in_order() -> None:
    _, faults = check("sclae + x.shap + foo(z) + (1 < 'a')", ADD, BACKWARD)
    assert [place for place, *_ in faults] == ["sclae", "shap", "foo", "z", "1 < 'a'"]


def test_expected_type() -> None:
    assert check("x.numel()", ADD, LAUNCH, INT) == ("int", [])
    assert check("x.numel()", ADD, CHECK, BOOL)[1] == [("x.numel()", "MT210", "expected bool, got int", "")]
    assert check("scale", ADD, BACKWARD, TENSOR)[1] == [("scale", "MT210", "expected Tensor, got float", "")]
    assert check("[1, 2.5]", ADD, FAKE, SHAPE)[1] == [("[1, 2.5]", "MT210", "expected int[], got float[]", "")]
    assert check("w", NORM, BACKWARD, TENSOR)[1][0][1] == "MT212"


def test_a_kernel_argument_says_its_c_type() -> None:
    def faults(text: str, schema: Schema = ADD) -> list[tuple[str, str, str | None]]:
        _, errors = check_kernel_argument(parse_expression(text), scope_for(schema, LAUNCH, TABLE))
        return [(error.code.name, error.message, error.hint) for error in errors]

    assert faults("scale") == [("MT215", "`scale` has no C type", "write `f32(scale)` or `f64(scale)`")]
    assert faults("x.numel()") == [
        ("MT215", "this argument has no C type", "write `i64(...)` or `i32(...)` or `u32(...)`")
    ]
    assert faults("flag", NORM) == [("MT215", "`flag` has no C type", "write `bool(flag)`")]
    assert faults("mode", NORM)[0][1] == "`mode` is str, which a kernel cannot take"
    assert [faults(text) for text in ("x", "out", "f32(scale)", "workspace", "contiguous(y)")] == [[]] * 5
    assert faults("w", NORM) == []


def test_what_is_as_it_was_stays_the_same_node() -> None:
    text = "[x.shape[0] + 1, -y.size(0), *x.shape[1:]] if len(x.shape) > 2 and not x.is_contiguous() else x.shape"
    expr = parse_expression(text)
    assert analyze(expr, scope_for(ADD, FAKE, TABLE)).expr is expr
    assert map_children(expr, lambda child: child) is expr


def test_parts_that_differ_in_their_place_alone_are_replaced() -> None:
    old, new = Name("x", offset=1), Name("x", offset=7)
    assert with_parts(ListExpr((old,)), items=(new,)).items[0] is new
    assert with_parts(Unary("-", old), operand=new).operand is new
    assert with_parts(ListExpr((old,)), items=(old, new)).items == (old, new)
