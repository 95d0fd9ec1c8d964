"""``graph``: what a captured graph may update gets to the runtime's table; what cannot be updated is refused."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tests.codegen.support import findings, load, run

DECODE = """\
namespace: my_graph
library: libk.so
ops:
- func: decode.steps(Tensor q, SymInt[] seq_lens, int n, Tensor? lens=None, *, str layout="b", float s=1.0) -> Tensor
  fake: {shape: '[n, len(seq_lens)]'}
  graph: {update: [s, seq_lens, lens]}
  kernels: [{device: npu, symbol: decode, block_dim: 8, args: [q, out, f32(s)]}]
  backward: not_differentiable
"""


def test_names_come_to_the_table_of_the_runtime(tmp_path):
    module = load(tmp_path, DECODE)
    from mindtorch_v2.npu.graph_specs import UPDATE_SPECS

    assert UPDATE_SPECS["my_graph::decode.steps"] == ("seq_lens", "lens", "s")
    assert UPDATE_SPECS[module.decode.name()] == ("seq_lens", "lens", "s")


def test_the_names_are_in_the_schemas_order(tmp_path):
    files, shown = run(tmp_path, DECODE)
    assert shown == ""
    tree = ast.parse(files["ops.py"])
    (decorator,) = next(node for node in tree.body if isinstance(node, ast.FunctionDef)).decorator_list
    given = {item.arg: ast.literal_eval(item.value) for item in decorator.keywords}
    assert given["graph_update"] == ("seq_lens", "lens", "s")


def test_one_name_needs_no_list(tmp_path):
    files, shown = run(tmp_path, DECODE.replace("[s, seq_lens, lens]", "seq_lens"))
    assert shown == ""
    assert 'graph_update=("seq_lens",)' in files["ops.py"]


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (
            "[seq_len]",
            """\
            ops.yaml:6:20: error[MT312]: `seq_len` is not an argument of my_graph::decode.steps
              |
            6 |   graph: {update: [seq_len]}
              |                    ^^^^^^^ did you mean `seq_lens`?
            """,
        ),
        (
            "layout",
            """\
            ops.yaml:6:19: error[MT321]: `layout` cannot be updated in a captured graph: it is str; numbers, lists of \
numbers and tensors on the host can
              |
            6 |   graph: {update: layout}
              |                   ^^^^^^ remove it
            """,
        ),
        (
            "[s, n, s]",
            """\
            ops.yaml:6:23: error[MT322]: `n` decides what an output looks like, whose memory a captured graph keeps
              |
            6 |   graph: {update: [s, n, s]}
              |                       ^ remove it, or give the output's shape without it
            ops.yaml:5:9: note: this rule reads it
              |
            5 |   fake: {shape: '[n, len(seq_lens)]'}
              |         ^
            ops.yaml:6:26: error[MT323]: `s` is there twice
              |
            6 |   graph: {update: [s, n, s]}
              |                          ^ remove one of them
            ops.yaml:6:20: note: the first is here
              |
            6 |   graph: {update: [s, n, s]}
              |                    ^
            """,
        ),
        (
            "[]",
            """\
            ops.yaml:6:19: error[MT116]: `update` is empty
              |
            6 |   graph: {update: []}
              |                   ^
            """,
        ),
        (
            "[s], updates: [n]",
            """\
            ops.yaml:6:24: error[MT110]: `graph` has no key `updates`
              |
            6 |   graph: {update: [s], updates: [n]}
              |                        ^^^^^^^ did you mean `update`?
            """,
        ),
    ],
)
def test_faults(tmp_path, update, text):
    assert findings(tmp_path, DECODE.replace("[s, seq_lens, lens]", update)) == textwrap.dedent(text)


def test_a_written_argument_is_refused(tmp_path):
    text = """\
    namespace: my_graph
    library: libk.so
    ops:
    - func: fill_(Tensor(a!) x, float by) -> Tensor(a!)
      graph: {update: [by, x]}
      kernels: [{device: npu, symbol: fill, block_dim: 8, args: [x, f32(by)]}]
      backward: not_differentiable
    """
    assert "`x` cannot be updated in a captured graph: it is written to" in findings(tmp_path, textwrap.dedent(text))


def test_without_a_kernel_for_npu_there_is_nothing_to_capture(tmp_path):
    text = findings(tmp_path, DECODE.replace("device: npu", "device: cuda, abi: ascendc"))
    assert text == textwrap.dedent(
        """\
        ops.yaml:6:3: error[MT324]: there is no kernel for npu, whose launch a graph captures
          |
        6 |   graph: {update: [s, seq_lens, lens]}
          |   ^^^^^ add one
        """
    )


HOOKED = """\
namespace: my_graph
library: libk.so
ops:
- func: hooked(Tensor x, int n) -> Tensor
  fake: {like: x}
  graph: {update: n, prepare: out, postprocess: 'math:floor', record: 'copy:copy', update_args: 'operator:add'}
  kernels: [{device: npu, symbol: hooked, block_dim: 8, args: [x, out, i64(n)]}]
  backward: not_differentiable
- func: hooked.out(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)
  graph: {update: n}
  kernels: [{device: npu, symbol: hooked, block_dim: 8, args: [x, out, i64(n)]}]
"""


def test_hooks_come_to_the_handler_class(tmp_path):
    load(tmp_path, HOOKED)
    from mindtorch_v2.npu.graphs import _NPU_GRAPH_OP_HANDLERS, NpuGraphOpHandler

    handler = _NPU_GRAPH_OP_HANDLERS["hooked.default"]
    assert issubclass(handler, NpuGraphOpHandler)
    assert handler is _NPU_GRAPH_OP_HANDLERS["hooked"]
    assert handler.get_update_specs("hooked.default") == [("arg", 1, "n")]
    assert handler.update_args("a", "b") == "ab"
    assert _NPU_GRAPH_OP_HANDLERS["hooked.out"].get_update_specs("hooked.out") == [("arg", 1, "n")]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            (".out(", ".into("),
            """\
            ops.yaml:6:31: error[MT331]: there is no other overload `out` of my_graph::hooked to capture
              |
            6 |   graph: {update: n, prepare: out, postprocess: 'math:floor', record: 'copy:copy', update_args: \
'operator:add'}
              |                               ^^^ declare my_graph::hooked.out, or leave `prepare` out
            """,
        ),
        (
            ("hooked.out(Tensor x, int n,", "hooked.out(Tensor x, int m,"),
            "`n` is not an argument of my_graph::hooked.out, which is captured in its place",
        ),
        (("prepare: out", "prepare: in"), "expected"),
        (("postprocess: 'math:floor'", "postprocess: out"), "expected"),
        (("postprocess: 'math:floor'", "post: out"), "`graph` has no key `post`"),
    ],
)
def test_faults_of_hooks(tmp_path, change, text):
    found = findings(tmp_path, HOOKED.replace(*change))
    if text.startswith(" "):
        assert textwrap.dedent(text) in found
    else:
        assert text in found


def test_hooks_alone_are_enough(tmp_path):
    text = HOOKED.replace("update: n, prepare: out, ", "")
    files, shown = run(tmp_path, text)
    assert shown == ""
    assert 'graph_hooks={"postprocess": "math:floor"' in files["ops.py"]
