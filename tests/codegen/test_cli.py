"""The command as people run it: what it writes, says and returns."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from mtcodegen.cli.main import main
from tests.codegen.test_golden import DOUBLE


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with one YAML file, as the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.yaml").write_text(DOUBLE)
    return tmp_path


def names(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_writes_beside_the_file(project, capsys):
    assert main(["ops.yaml"]) == 0
    assert capsys.readouterr().out == "wrote generated/ops.py\nwrote generated/ops.pyi\n"
    assert names(project / "generated") == ["ops.py", "ops.pyi"]


def test_an_unchanged_file_is_not_touched(project, capsys):
    main(["ops.yaml"])
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in (project / "generated").iterdir()}
    assert main(["generate", "ops.yaml"]) == 0
    assert before == {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in (project / "generated").iterdir()}
    assert capsys.readouterr().out.endswith("everything is up to date\n")


def test_into_another_folder(project):
    assert main(["ops.yaml", "-o", "a/b"]) == 0
    assert names(project / "a" / "b") == ["ops.py", "ops.pyi"]
    assert '"../../libk.so"' in (project / "a" / "b" / "ops.py").read_text()


def test_check_is_clean_after_generating(project, capsys):
    main(["ops.yaml"])
    capsys.readouterr()
    assert main(["check", "ops.yaml"]) == 0
    assert capsys.readouterr().out == "everything is up to date\n"


def _edit_yaml(project):
    (project / "ops.yaml").write_text(DOUBLE.replace("scale=1.0", "scale=1.5"))


def _edit_output(project):
    path = project / "generated" / "ops.py"
    path.write_text(path.read_text().replace("x.numel()", "x.numel() ", 1))


def _add_orphan(project):
    (project / "generated" / "extra.py").write_text("import os\n")


def _remove_output(project):
    (project / "generated" / "ops.pyi").unlink()


def _rename_yaml(project):
    (project / "ops.yaml").rename(project / "ops.yaml.old")
    (project / "other.yaml").write_text(DOUBLE)


CHANGES = [
    (_edit_yaml, "MT511", '-@_lib.operator("double(Tensor x, *, float scale=1.0) -> Tensor")'),
    (_edit_output, "MT511", "+++ generated/ops.py"),
    (_add_orphan, "MT512", "-import os"),
    (_remove_output, "MT510", "--- /dev/null\n+++ generated/ops.pyi"),
    (_rename_yaml, "MT512", "--- generated/ops.py\n+++ /dev/null"),
]


@pytest.mark.parametrize(("change", "code", "diff"), CHANGES, ids=[case[0].__name__.strip("_") for case in CHANGES])
def test_check_turns_red_with_a_diff(project, capsys, change, code, diff):
    main(["ops.yaml"])
    change(project)
    before = {path: path.read_bytes() for path in (project / "generated").iterdir()}
    capsys.readouterr()
    arguments = [str(path.name) for path in project.glob("*.yaml")]
    assert main(["check", *arguments]) == 1
    output = capsys.readouterr()
    assert diff in output.out
    assert f"error[{code}]" in output.err
    assert {path: path.read_bytes() for path in (project / "generated").iterdir()} == before


def test_diff_shows_it_and_is_no_failure(project, capsys):
    main(["ops.yaml"])
    _edit_yaml(project)
    capsys.readouterr()
    assert main(["diff", "ops.yaml"]) == 0
    assert '+@_lib.operator("double(Tensor x, *, float scale=1.5) -> Tensor")' in capsys.readouterr().out


def test_what_nothing_makes_any_more_is_removed(project, capsys):
    main(["ops.yaml"])
    _rename_yaml(project)
    (project / "generated" / "mine.py").write_text("# by hand\n")
    capsys.readouterr()
    assert main(["other.yaml"]) == 0
    assert "removed generated/ops.py" in capsys.readouterr().out
    assert names(project / "generated") == ["mine.py", "other.py", "other.pyi"]


def test_a_neighbours_module_is_no_orphan(project):
    (project / "other.yaml").write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    main(["ops.yaml"])
    main(["other.yaml"])
    assert names(project / "generated") == ["ops.py", "ops.pyi", "other.py", "other.pyi"]
    assert main(["check", "ops.yaml"]) == 0


@pytest.mark.parametrize("target", ["mindtorch", "torch", "docs"])
def test_one_file_of_a_folder_leaves_what_is_of_the_whole_folder(project, target):
    folder = project / "decl"
    folder.mkdir()
    (folder / "a.yaml").write_text(DOUBLE)
    (folder / "b.yaml").write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    options = ["--target", target, "-o", "made"]
    assert main(["decl", *options]) == 0
    made = {path: path.read_bytes() for path in (project / "made").iterdir()}
    assert main(["check", "decl/a.yaml", *options]) == 0
    assert main(["decl/a.yaml", *options]) == 0
    assert {path: path.read_bytes() for path in (project / "made").iterdir()} == made
    (folder / "b.yaml").unlink()
    assert main(["check", "decl/a.yaml", *options]) == 1


@pytest.mark.parametrize("name", ["other.yml", "other"])
def test_a_neighbour_of_another_suffix(project, name):
    (project / name).write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    main([name])
    main(["ops.yaml"])
    assert names(project / "generated") == ["ops.py", "ops.pyi", "other.py", "other.pyi"]


def test_a_copy_of_a_neighbours_module_is_written_anew(project):
    (project / "other.yaml").write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    main(["ops.yaml"])
    copy = project / "generated" / "other.py"
    copy.write_text((project / "generated" / "ops.py").read_text())
    assert main(["check", "other.yaml"]) == 1
    assert main(["other.yaml"]) == 0
    assert copy.read_text().startswith("# Generated by mtcodegen from other.yaml.")


def test_the_neighbours_of_a_link_are_beside_it(project):
    (project / "elsewhere").mkdir()
    (project / "elsewhere" / "real.yaml").write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    (project / "link.yaml").symlink_to("elsewhere/real.yaml")
    main(["ops.yaml"])
    main(["link.yaml"])
    assert names(project / "generated") == ["link.py", "link.pyi", "ops.py", "ops.pyi"]


def test_folders_in_the_output_are_left_alone(project):
    inner = project / "src" / "torch" / "ops.py"
    main(["ops.yaml", "-o", "src/torch"])
    (project / "src" / "torch" / "mine.py").write_text("mine = 1\n")
    assert main(["ops.yaml", "-o", "src"]) == 0
    assert inner.is_file()
    assert main(["check", "ops.yaml", "-o", "src"]) == 0


def test_a_hand_written_file_is_never_overwritten(project, capsys):
    (project / "ops.py").write_text("precious = 1\n")
    assert main(["ops.yaml", "-o", "."]) == 1
    assert (project / "ops.py").read_text() == "precious = 1\n"
    assert "error[MT504]: was not generated by mtcodegen, and is not overwritten" in capsys.readouterr().err


def test_nothing_is_written_beside_a_fault(project, capsys):
    (project / "bad.yaml").write_text(DOUBLE.replace("func: double", "func: 2double"))
    assert main(["ops.yaml", "bad.yaml"]) == 1
    assert not (project / "generated").exists()
    assert capsys.readouterr().err.endswith("1 error\n")


def test_a_folder_that_cannot_be_written(project, capsys):
    (project / "generated").write_text("a file\n")
    assert main(["ops.yaml"]) == 1
    assert "error[MT503]" in capsys.readouterr().err


def test_a_folder_where_a_module_belongs(project, capsys):
    (project / "generated" / "ops.py").mkdir(parents=True)
    assert main(["ops.yaml"]) == main(["check", "ops.yaml"]) == 1
    shown = capsys.readouterr()
    assert shown.err.count("generated/ops.py: error[MT503]: cannot be read: Is a directory") == 2
    assert shown.out == ""


def test_killed_half_way_leaves_whole_files(project, monkeypatch):
    main(["ops.yaml"])
    before = {path.name: path.read_bytes() for path in (project / "generated").iterdir()}
    _edit_yaml(project)

    def killed(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(pathlib.Path, "replace", killed)
    assert main(["ops.yaml"]) == 130
    assert {path.name: path.read_bytes() for path in (project / "generated").iterdir()} == before


def test_a_folder_of_files_is_a_package(project):
    folder = project / "decl"
    folder.mkdir()
    (folder / "b.yaml").write_text(DOUBLE)
    (folder / "a.yaml").write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    assert main(["decl", "-o", "pkg"]) == 0
    assert names(project / "pkg") == ["__init__.py", "a.py", "a.pyi", "b.py", "b.pyi"]
    assert (project / "pkg" / "__init__.py").read_text() == (
        "# Generated by mtcodegen from decl. Do not edit: change the YAML and run mtcodegen again.\n"
        '"""Operators declared in decl."""\n\nfrom . import a, b\n\n__all__ = ["a", "b"]\n'
    )
    assert main(["check", "decl", "-o", "pkg"]) == 0


@pytest.mark.parametrize(
    "name", ["it's (a) folder", "a\nimport os", '"""', "a\\N{NONE}", os.fsdecode(b"\xff"), " --><b>"]
)
@pytest.mark.parametrize("target", ["mindtorch", "torch", "docs"])
def test_a_folder_with_any_name(project, name, target):
    (project / name).mkdir()
    (project / name / "ops.yaml").write_text(DOUBLE)
    words = [name, "--target", target, "-o", "pkg", "--format", "json"]
    assert [main([command, *words]) for command in ("generate", "check", "diff")] == [0, 0, 0]
    for path in (project / "pkg").glob("*.py"):
        compile(path.read_text("utf-8"), path.name, "exec")
        assert "\nimport os" not in path.read_text("utf-8") or path.name == "_launcher.py"
    for path in (project / "pkg").glob("*.html"):
        assert "<b>" not in path.read_text("utf-8").partition("-->")[0]


def test_a_terminal_without_the_letters(project, child_env):
    """What programs read is UTF-8 whatever the terminal has; what people read is escaped."""
    text = DOUBLE.replace("  fake", "  doc: \u4f60 \xe9\n  fake")
    (project / "ops.yaml").write_text(text, "utf-8")
    env = {**child_env, "PYTHONIOENCODING": "latin-1"}
    run = [sys.executable, "-m", "mtcodegen"]
    shown = subprocess.run([*run, "show", "double", "ops.yaml"], env=env, capture_output=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"\\u4f60 \xe9\n" in shown.stdout
    folder = os.fsdecode(b"\xff")
    done = subprocess.run([*run, "ops.yaml", "-o", folder], env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"wrote \\udcff/ops.py")
    done = subprocess.run([*run, "fmt", "-"], env=env, input=text.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, text.encode())


def test_pyproject_says_where_output_goes(project, capsys):
    (project / "pyproject.toml").write_text(
        '[[tool.mtcodegen.generate]]\ninputs = ["ops.yaml"]\noutput = "src/my_ops"\n'
    )
    assert main([]) == 0
    assert names(project / "src" / "my_ops") == ["ops.py", "ops.pyi"]
    assert main(["check", "ops.yaml"]) == 0
    assert main(["check"]) == 0


def test_two_targets_may_share_a_folder_but_no_file(project, capsys):
    (project / "other.yaml").write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    entry = '[[tool.mtcodegen.generate]]\ninputs = ["{}.yaml"]\noutput = "src"\n'
    (project / "pyproject.toml").write_text(entry.format("ops") + entry.format("other"))
    assert main([]) == 0
    assert names(project / "src") == ["ops.py", "ops.pyi", "other.py", "other.pyi"]
    assert main([]) == main(["check"]) == 0
    (project / "pyproject.toml").write_text(entry.format("ops") + entry.format("ops") + 'target = "mindspore"\n')
    capsys.readouterr()
    assert main([]) == main(["check"]) == 1
    shown = capsys.readouterr()
    assert "src/ops.py: error[MT502]: two jobs would make this file" in shown.err
    assert shown.out == ""


USAGE = [
    ([], "no files given"),
    (["nowhere.yaml"], "nowhere.yaml: no such file"),
    (["empty"], "empty: no *.yaml files in this folder"),
    (["explain", "MT999"], "there is no code MT999"),
    (["explain", "MT2O4"], "did you mean `MT2"),
    (["check", "ops.yaml", "--fromat", "json"], "unrecognized arguments: --fromat json; did you mean `--format`?"),
    (["check", "ops.yaml", "--targt=torch"], "did you mean `--target`?"),
    (["check", "ops.yaml", "--format", "jsn"], "did you mean `json`?"),
    (["ops.yaml", "--format", "xml"], "invalid choice"),
    (["check", "--nonsense"], "unrecognized arguments"),
    ([""], "argument FILE: an empty name"),
    (["ops.yaml", "-o", ""], "argument -o/--output: an empty name"),
    (["breaking", "ops.yaml", "--against", ""], "argument --against: an empty name"),
    (["init", ""], "argument NAME: an empty name"),
    (["show"], "the following arguments are required: NAME\n"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_wrong_usage_is_2(project, capsys, arguments, message):
    (project / "empty").mkdir()
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "[[tool.mtcodegen.generate]]\noutput = 3\n",
        "[tool.mtcodegen\n",
        "tool.mtcodegen = 3\n",
        "[[tool.mtcodegen]]\ninputs = ['ops.yaml']\n",
        "[[tool.mtcodegen.generate]]\ninputs = []\noutput = 'out'\n",
        "[[tool.mtcodegen.generate]]\ninputs = ['']\noutput = 'out'\n",
        "[[tool.mtcodegen.generate]]\ninputs = ['ops.yaml']\noutput = ''\n",
        '[[tool.mtcodegen.generate]]\ninputs = ["ops.yaml\\u0000"]\noutput = "out"\n',
    ],
)
def test_a_pyproject_that_makes_no_sense(project, capsys, text):
    (project / "pyproject.toml").write_text(text)
    assert main(["ops.yaml"]) == 2
    assert "pyproject.toml: " in capsys.readouterr().err


@pytest.mark.parametrize("head", ["[ tool . mtcodegen ]\n", '[tool."mtcodegen"]\n', "[tool]\nmtcodegen."])
def test_the_section_however_toml_may_spell_it(project, head):
    (project / "pyproject.toml").write_text(f'{head}generate = [{{inputs = ["ops.yaml"], output = "out"}}]\n')
    assert main([]) == 0
    assert names(project / "out") == ["ops.py", "ops.pyi"]


def test_a_pyproject_of_something_else(project):
    (project / "pyproject.toml").write_text("tool = 3  # mtcodegen\n")
    assert main(["ops.yaml"]) == 0


@pytest.mark.parametrize("name", ["my-ops.yaml", "class.yaml", "2.yaml", "__init__.yaml", "a.y\nimport os"])
def test_a_name_that_is_no_module(project, capsys, name):
    (project / name).write_text(DOUBLE)
    assert main([name]) == 1
    assert (
        f"{name}: error[MT501]: `{name.partition('.')[0]}` cannot be the name of a Python module"
        in capsys.readouterr().err
    )


def test_two_files_for_one_module(project, capsys):
    (project / "sub").mkdir()
    (project / "sub" / "ops.yaml").write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    assert main(["ops.yaml", "sub/ops.yaml", "-o", "out"]) == 1
    assert "sub/ops.yaml: error[MT502]: would make the same module as ops.yaml: `ops`" in capsys.readouterr().err


def test_json_findings_go_to_standard_output(project, capsys):
    (project / "ops.yaml").write_text(DOUBLE.replace("grad * scale", "grad * sclae"))
    assert main(["ops.yaml", "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["code"], found["line"], found["column"]) == ("MT204", 9, 24)
    _edit_yaml(project)
    assert main(["ops.yaml", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_form_that_no_target_has(project, capsys):
    (project / "pyproject.toml").write_text('[[tool.mtcodegen.generate]]\ninputs = ["ops.yaml"]\noutput = "out"\n')
    assert main(["check", "--target", "torch"]) == 2
    assert 'no [[tool.mtcodegen.generate]] has `target = "torch"`' in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["ops.yaml", "ops.yaml/deep", "gone"])
def test_an_output_folder_that_is_a_file(project, capsys, folder):
    (project / "gone").symlink_to(project / "nowhere" / "at all")
    assert main(["ops.yaml", "-o", folder]) == 1
    shown = capsys.readouterr().err
    assert f"{folder}/ops.py: error[MT503]: cannot be written: {folder} is not a folder\n   = choose another" in shown


def test_help_as_a_command_and_all_codes(capsys):
    assert main(["help"]) == 0
    overview = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == overview
    assert main(["help", "check"]) == 0
    assert capsys.readouterr().out.startswith("usage: mtcodegen check ")
    assert main(["-V"]) == 0
    assert capsys.readouterr().out.startswith("mtcodegen ")
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == sorted(lines)
    assert {"MT204", "MT601", "MT701", "MT801"} <= {line.split("  ")[0] for line in lines}
    assert main(["explain", "mt204", "MT801"]) == 0
    shown = capsys.readouterr().out
    assert "MT204: an unknown name" in shown
    assert "MT801: an operator without `doc`" in shown


def test_explain_and_schema_and_help(capsys):
    assert main(["explain", "mt204"]) == 0
    assert capsys.readouterr().out.startswith("MT204: an unknown name\n")
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "mtcodegen operator declarations"
    assert main(["--help"]) == 0
    assert "mtcodegen check ops.yaml" in capsys.readouterr().out


def test_as_a_module_and_without_the_runtime(project, child_env):
    """No runtime, no framework; and the heavy imports only where they are used."""
    program = (
        "import sys\nfrom mtcodegen.cli.main import main\nstatus = main(['ops.yaml'])\n"
        "heavy = {'mindtorch_v2', 'mindspore', 'torch', 'numpy', 'difflib'} & set(sys.modules)\n"
        "print(status, sorted(heavy))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=child_env)
    assert result.stdout.splitlines()[-1] == "0 []"
    command = [sys.executable, "-m", "mtcodegen", "check", "ops.yaml"]
    assert subprocess.run(command, capture_output=True, env=child_env).returncode == 0


def test_a_reader_that_goes_away(project, child_env):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "mtcodegen", "schema"]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, env=child_env)
    os.close(write)
    assert "Traceback" not in result.stderr
