"""Reading YAML: what is not plain data is refused, whatever it costs others; and ops.schema.json is what it says."""

from __future__ import annotations

import json
import pathlib

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtcodegen.document.load import load
from mtcodegen.entries.validate import json_schema, to_python, validate
from mtcodegen.findings.source import Source
from tests.codegen.support import ZOO, findings

BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"
REFUSED = [
    ("tabs", "ops:\n\t- func\n", "MT101"),
    ("unclosed", "ops: [", "MT101"),
    ("a mapping in a scalar", "namespace: a: b", "MT101"),
    ("a control character", "doc: \x01", "MT101"),
    ("a merge of documents", "[]\n---\n[]", "MT103"),
    ("nothing", "", "MT103"),
    ("only a comment", "# nothing\n", "MT103"),
    ("a list as a key", "[a]: b", "MT106"),
    ("an alias bomb", BOMB, "MT104"),
    ("a tag that makes objects", "ops: !!python/object/apply:os.system ['true']", "MT104"),
    ("a tag on a scalar", "namespace: !x a", "MT104"),
    ("depth", "[" * 100_000, "MT105"),
    ("depth in blocks", "".join(" " * i + "- \n" for i in range(40)), "MT105"),
    ("a scalar", "hello", "MT112"),
    ("a key given twice", "ops: []\nops: []", "MT102"),
]


@pytest.mark.parametrize(("text", "code"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_refused(tmp_path, text, code):
    shown = findings(tmp_path, text)
    assert f"error[{code}]" in shown


def test_not_utf8(tmp_path):
    expected = "ops.yaml: error[MT101]: is not UTF-8: byte 0xff on line 2\n   = save the file as UTF-8\n"
    assert findings(tmp_path, b"ops:\n- \xff") == expected


def test_a_byte_order_mark_is_no_fault(tmp_path):
    assert findings(tmp_path, b"\xef\xbb\xbfops: []\n") == ""


def test_a_file_that_cannot_be_read():
    from mtcodegen.document.load import read

    source, found = read(pathlib.Path("/nowhere/ops.yaml"), "ops.yaml")
    assert source is None
    assert [item.message for item in found] == ["cannot be read: No such file or directory"]


# ---------------------------------------------------------------- what jsonschema refuses is worded, and nothing else


def _agrees(text: str) -> bool:
    """Whether something is said of the text just where JSON Schema refuses it; True where it is not YAML for us."""
    document, _ = load(Source("ops.yaml", text))
    if document is None:
        return True
    ours = not validate(document)
    theirs = jsonschema.Draft202012Validator(json_schema()).is_valid(to_python(document))
    return ours == theirs


def test_the_schema_is_one(repo_root):
    schema = json.loads((repo_root / "ops_yaml" / "ops.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)


def test_every_key_is_described():
    for name, definition in json_schema()["$defs"].items():
        for key, value in definition.get("properties", {}).items():
            assert value.get("description"), f"{name}.{key}"


def test_both_accept_what_there_is(repo_root):
    for path in [ZOO, *(repo_root / "ops_yaml").rglob("*.yaml"), repo_root / "examples/scaled_add/ops.yaml"]:
        document, found = load(Source(path.name, path.read_text()))
        assert document is not None, found
        assert validate(document) == []
        jsonschema.Draft202012Validator(json_schema()).validate(to_python(document))


_KEYS = sorted({key for definition in json_schema()["$defs"].values() for key in definition.get("properties", {})})
_VALUES = st.recursive(
    st.sampled_from(
        ["a", "a b", "1", "1.5", "true", "null", "''", "cpu", "c", "x: y", "m:f", "function", "float32", "'1'"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(st.sampled_from([*_KEYS, "other"]), inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
        ),
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*_KEYS, "other"]), _VALUES, max_size=4))
def test_both_judge_alike(entry):
    body = ", ".join(f"{key}: {value}" for key, value in {"func": "f() -> ()", **entry}.items())
    assert _agrees("[{" + body + "}]")


@given(st.lists(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=4), min_size=1, max_size=2))
def test_both_judge_kernels_alike(kernels):
    body = ", ".join("{" + ", ".join(f"{key}: {value}" for key, value in item.items()) + "}" for item in kernels)
    assert _agrees("ops: [{func: f, kernels: [" + body + "]}]")
