"""What is refused, with its place and its message."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opschema import Alias, Argument, BaseType, Identifier, OptionalType, Return, Schema, SchemaError, parse_schema

# (schema with the fault between « and », message, a part of the hint)
FAULTS = [
    # What torchgen accepts in silence.
    ("f(int dim=«hello») -> Tensor", "`hello` is not a default of int: expected an integer", ""),
    ("f(int a=1, «int b») -> Tensor", "`b` has no default, but `a` before it has one", "give `b` a default too"),
    ("f(Tensor x, «int x») -> Tensor", "argument `x` is there twice", "rename one"),
    ("f(Tensor «9x») -> Tensor", "`9x` is not a name", "not a digit first"),
    ("«fo-o bar»(Tensor x) -> Tensor", "`fo-o bar` is not an operator's name", "letters, digits"),
    ("f(Tensor self«,»int dim) -> Tensor", "expected a space after `,`", ""),
    # Types.
    ("f(«tensor» x) -> Tensor", "unknown type specifier `tensor`", "did you mean `Tensor`?"),
    ("f(«int64_t» x) -> Tensor", "unknown type specifier `int64_t`", "Use `SymInt` or `int`"),
    ("f(«double» x) -> Tensor", "unknown type specifier `double`", "Use `float`"),
    ("f(Tensor x) -> «Tensr»", "unknown type specifier `Tensr`", "did you mean `Tensor`?"),
    ("f(«Tensor??» x) -> Tensor", "`Tensor??` is optional twice", "write `Tensor?`"),
    ("f(Tensor«!» x) -> Tensor", "a mutated tensor needs a named set", "Tensor(a!)"),
    ("f(int«(a!)» x) -> Tensor", "only a Tensor can be annotated, and this is int", ""),
    ("f(Tensor«(a b)» x) -> Tensor", "`(a b)` is not an alias annotation", "write `(a)`"),
    ("f(Tensor[]«(a!)» x) -> ()", "an alias annotation in the wrong place", "`Tensor(a!)[]`"),
    ("f(int«[n]» x) -> Tensor", "the size of a list is a number below 10000", "`[]`"),
    ("f(int«[99999]» x=1) -> Tensor", "the size of a list is a number below 10000", "`[]`"),
    ("f(int«[02]» x) -> Tensor", "the size of a list is a number below 10000", "`[]`"),
    ("f(int«[٣]» x) -> Tensor", "the size of a list is a number below 10000", "`[]`"),
    # Defaults.
    ("f(bool b=«true») -> Tensor", "`true` is not a default of bool: expected `True` or `False`", "write `True`"),
    ("f(str s=«abc») -> Tensor", "`abc` is not a default of str: expected a quoted string", 'write `"abc"`'),
    ("f(int i=«None») -> Tensor", "`None` is not a default of int: expected an integer", "`int?`"),
    ("f(int i=«1.5») -> Tensor", "`1.5` is not a default of int: expected an integer", ""),
    ("f(int i=«9223372036854775808») -> Tensor", "`9223372036854775808` does not fit in 64 bits", ""),
    ("f(int[] i=«1») -> Tensor", "`1` is not a default of int[]", "[1]"),
    ("f(int[] i=[1,«x»]) -> Tensor", "`x` is not a default of int: expected an integer", ""),
    ("f(Tensor x=«1») -> Tensor", "Tensor takes no default, only `Tensor?` does, and its default is None", ""),
    (
        "f(ScalarType d=«flot32») -> Tensor",
        "`flot32` is not a default of ScalarType: expected the name of a dtype",
        "float32",
    ),
    ("f(int a=«)» -> Tensor", "expected a default after `=`", ""),
    # Punctuation.
    ("f«»", "expected `(` after the operator's name", "a schema looks like"),
    ("f(Tensor x«»", "the list of arguments is not closed", "expected `)`"),
    ("f(«Tensor») -> Tensor", "an argument has a type and a name", "as in `Tensor x`"),
    ("f(Tensor x)«->Te»nsor", "expected ` -> ` and what the operator returns", "write ` -> `"),
    ("f(Tensor x)«»", "expected ` -> ` and what the operator returns", "a schema ends in"),
    ("f(Tensor x) -> Tensor«;»", "`;` does not belong to a type", ""),
    ("f(Tensor x) -> ()« x»", "nothing may follow the returns", ""),
    ("f(Tensor x, «*») -> Tensor", "no argument follows `*`", ""),
    ("f(*, int x, «*», int y) -> Tensor", "`*` is there twice", ""),
    # The whole schema.
    ("«f.default»(Tensor x) -> Tensor", "`default` is the name of the overload without a name", "write `f`"),
    (
        "«f_»(Tensor x) -> Tensor",
        "`f_` is in-place by its name, but does not write to its first argument",
        "Tensor(a!)",
    ),
    ("f_(Tensor(a!) x) -> «Tensor»", "an in-place operator returns `x`", "write `-> Tensor(a!)`"),
    ("f_(Tensor(a!)[] x) -> «Tensor(a!)»", "an in-place operator on a list returns nothing", "write `-> ()`"),
    ("f(Tensor x, *, Tensor(a!) out, «int y») -> ()", "`y` follows an out argument", "out arguments come last"),
    ("f(Tensor(a!) x) -> (Tensor(a!), «Tensor»)", "either every return is a mutated argument or none is", ""),
    ("f(Tensor x) -> (Tensor a, «Tensor a»)", "return `a` is there twice", "rename one"),
    ("f(Tensor x) -> «Tensor(a!)»", "no argument is annotated (a!)", ""),
    (
        "f(*, «Tensor(a!) o», Tensor(b!) p) -> (Tensor(b!), Tensor(a!))",
        "out argument `o` is not returned in its place",
        "",
    ),
]


@pytest.mark.parametrize(("marked", "message", "hint"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_fault(marked: str, message: str, hint: str) -> None:
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    error = caught.value
    assert error.message == message
    assert (error.offset, error.length) == (start, max(end - start, 1))
    assert hint in (error.hint or "")
    assert bool(hint) == bool(error.hint)


def test_the_error_shows_the_place() -> None:
    with pytest.raises(RuntimeError) as caught:
        parse_schema("f(tensor x) -> Tensor")
    assert str(caught.value) == (
        "unknown type specifier `tensor`\n  f(tensor x) -> Tensor\n    ^^^^^^ did you mean `Tensor`?"
    )


@pytest.mark.parametrize(
    "text",
    [
        "f(" + ") -> " * 100_000 + "\n",
        f"f(float x={'1' * 100_000}.e) -> ()",
        f"f(*, {', '.join(f'Tensor(a!) x{i}' for i in range(9_000))}) -> ({', '.join(['Tensor(a!)'] * 9_000)})",
    ],
    ids=["arrows", "digits", "outs"],
)
def test_a_long_text_takes_no_longer_than_its_length(text: str) -> None:
    start = time.thread_time()
    with contextlib.suppress(SchemaError):
        parse_schema(text)
    assert time.thread_time() - start < 2


@pytest.mark.parametrize(
    ("text", "earlier"),
    [
        ("f(int y, Tensor x, *, int x) -> Tensor", "Tensor x"),
        ("f(Tensor x) -> (Tensor a, Tensor b, Tensor a)", "Tensor a"),
        ("f(int y, Tensor? x=None, int z) -> Tensor", "Tensor? x=None"),
    ],
)
def test_the_error_knows_the_part_it_goes_against(text: str, earlier: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert caught.value.also == (text.index(earlier), len(earlier))


def test_construction_checks_the_same_rules() -> None:
    tensor = BaseType("Tensor")
    with pytest.raises(SchemaError, match="argument `x` is there twice"):
        Schema("ns", "f", "", (Argument("x", tensor), Argument("x", tensor)), (Return(tensor),))
    with pytest.raises(SchemaError, match="is not a default of int"):
        Argument("dim", BaseType("int"), default="hello")
    with pytest.raises(SchemaError, match="only a Tensor can be annotated"):
        Argument("dim", BaseType("int"), alias=Alias(("a",), write=True))
    with pytest.raises(SchemaError, match="optional twice"):
        OptionalType(OptionalType(tensor))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("int a=-3", -3),
        ("float a=1e-05", 1e-05),
        ("float a=2", 2.0),
        ("Scalar a=2", 2),
        ("bool a=True", True),
        ("str a='fro'", "fro"),
        ('str a="x, y) -> z"', "x, y) -> z"),
        (r'str a="\"' + r"'\\" + '"', "\"'\\"),
        ("int[3] a=1", [1, 1, 1]),
        ("int[2]? a=None", None),
        ("int[1] a=[-2,-1]", [-2, -1]),
        ("int[] a=[]", []),
        ("int[] a=[0, 0]", [0, 0]),
        ('str[] a=["p, q","]"]', ["p, q", "]"]),
        ("int a=Mean", Identifier("Mean")),
        ("ScalarType? a=long", Identifier("int64")),
        ("ScalarType a=half", Identifier("float16")),
        ("ScalarType a=bfloat16", Identifier("bfloat16")),
        ('Device a="cpu"', "cpu"),
    ],
)
def test_default_values(argument: str, value: object) -> None:
    text = f"f({argument}) -> Tensor"
    schema = parse_schema(text)
    assert str(schema) == text
    assert schema.arguments[0].default_value == value
    assert type(schema.arguments[0].default_value) is type(value)


def test_no_default_has_no_value() -> None:
    argument = parse_schema("f(int x) -> ()").arguments[0]
    assert (argument.has_default, argument.has_default_value(), argument.default_value) == (False, False, None)


def test_parts() -> None:
    schema = parse_schema("ns::f.out(Tensor x, int from, *, int k=1, Tensor(a!) out) -> Tensor(a!)")
    assert schema.qualname == "ns::f.out"
    assert [argument.name for argument in schema.positional] == ["x", "from"]
    assert [argument.name for argument in schema.kwarg_only] == ["k", "out"]
    assert [argument.name for argument in schema.out_arguments] == ["out"]
    both = parse_schema("f(Tensor(a|b) x, Tensor(c -> *) y) -> Tensor(a|b)")
    assert both.arguments[0].alias == Alias(("a", "b"))
    assert both.arguments[1].alias == Alias(("c",), after=("*",))


_PIECES = st.sampled_from(
    [
        *("f", "ns::", "(", ")", "Tensor", " ", "x", ", ", ",", "*", "?", "[", "]", "=", "1", "None", '"', "\\", "->"),
        *(" -> ", "(a!)", "int", "'", "a", "-", ".", "é", "\n", "9", "out", "_"),
    ]
)


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        schema = parse_schema(text)
    except SchemaError as error:
        place = (error.offset, error.length)
    else:
        assert parse_schema(str(schema)) == schema
        return
    assert 0 <= place[0] <= len(text)
    assert place[1] >= 1


def test_long_and_deep_input_is_linear() -> None:
    with pytest.raises(SchemaError, match="at most 8 suffixes"):
        parse_schema(f"f(Tensor{'[]' * 10_000} x) -> Tensor")
    arguments = ", ".join(f"Tensor x{i}" for i in range(20_000))
    assert len(parse_schema(f"f({arguments}) -> ()").arguments) == 20_000
    with pytest.raises(SchemaError):
        parse_schema("f(str x='" + "\\" * 100_001)
