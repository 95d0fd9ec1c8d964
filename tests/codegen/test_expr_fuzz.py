"""Whatever parses goes through every later stage: faults are values, and what is emitted is Python."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from mtcodegen.expr import (
    OperatorTable,
    Purpose,
    SavedValues,
    analyze,
    check_kernel_argument,
    parse_expression,
    scope_for,
)
from mtcodegen.pycode.expressions import to_python
from opschema import parse_schema
from tests.codegen.support import of_context

SCHEMA = parse_schema(
    "ns::f(Tensor x, Tensor? w, Tensor[] xs, int[] dims, int n=1, float? eps=None, Scalar s=1, bool b=True, "
    "str mode='a', Generator? g=None) -> (Tensor out, Tensor mean)"
)
OPERATORS = (
    "aten::exp(Tensor self) -> Tensor",
    "aten::sum(Tensor self) -> Tensor",
    "aten::sum.dim(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor",
    "aten::topk(Tensor self, int k, *, bool largest=True) -> (Tensor values, Tensor indices)",
    "ns::nothing(Tensor(a!) x) -> ()",
)
TABLE = OperatorTable({schema.qualname: schema for schema in map(parse_schema, OPERATORS)})

NAMES = "x w xs dims n eps s b mode g out mean grads grad_out result1 float32 inf nope ns torch f32 min".split()  # noqa: SIM905
MEMBERS = "shape dtype device size numel dim mT type sum exp topk nothing itemsize default nope".split()  # noqa: SIM905
LEAVES = st.one_of(st.sampled_from(NAMES), st.sampled_from(["0", "1", "2.5", "None", "True", "'a'", "[]"]))


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operator = st.sampled_from("+ - * / // % ** @ == != < is in and or".split())  # noqa: SIM905
    items = st.lists(inner, max_size=3).map(", ".join)
    function = st.sampled_from("exp sum topk len min ceil_div prod f32 sizeof contiguous ns.nothing torch.exp".split())  # noqa: SIM905
    return st.one_of(
        st.builds("({} {} {})".format, inner, operator, inner),
        st.builds("-{}".format, inner),
        st.builds("(not {})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("({0} is not None and {1})".format, st.sampled_from(["w", "eps"]), inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("{}[{}:]".format, inner, inner),
        st.builds("[*{}, {}]".format, inner, inner),
        st.builds("{}.{}".format, inner, st.sampled_from(MEMBERS)),
        st.builds("{}.{}({})".format, inner, st.sampled_from(MEMBERS), items),
        st.builds("{}({})".format, function, items),
        st.builds("{}({}, dim={})".format, function, inner, inner),
    )


@given(st.recursive(LEAVES, grow, max_leaves=10), st.sampled_from(Purpose))
def test_later_stages_take_whatever_parses(text: str, purpose: Purpose) -> None:
    text = text.replace("2.5.", "(2.5).").replace("0.", "(0).").replace("1.", "(1).")
    expr = parse_expression(text)
    scope = scope_for(SCHEMA, purpose, TABLE)
    checked = analyze(expr, scope)
    for error in checked.errors:
        assert 0 <= error.offset < error.offset + error.length <= len(text)
    sources = [to_python(checked.expr)]
    check_kernel_argument(expr, scope)
    if purpose is Purpose.BACKWARD:
        saved = SavedValues([checked.expr], SCHEMA)
        sources.append(to_python(saved.used_in(checked.expr), of_context(saved.items)))
        names = [item.attr_name for item in saved.items]
        assert len(set(names)) == len(names)
    if not checked.errors:
        for source in sources:
            ast.parse(source, mode="eval")
