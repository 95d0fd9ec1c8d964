"""``mtcodegen completion``: scripts that make shells complete commands, options and files."""

from __future__ import annotations

import argparse
import shlex
import sys

from mtcodegen.cli.main import COMMANDS, command_parser
from mtcodegen.system.values import dataclass

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = "Print a completion script for a shell: commands, their options, the options' values, and files."
EXAMPLES = (
    ('eval "$(mtcodegen completion bash)"', "in ~/.bashrc"),
    ("mtcodegen completion zsh > ~/.zfunc/_mtcodegen", "a folder of $fpath"),
    ("mtcodegen completion fish > ~/.config/fish/completions/mtcodegen.fish", "for fish"),
)


@dataclass(frozen=True)
class _Option:
    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]
    takes_value: bool


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", choices=tuple(_SHELLS), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print."""
    sys.stdout.write(_SHELLS[options.shell]())
    return 0


def _actions(command: str) -> list[argparse.Action]:
    return command_parser(command)._actions


def _options(command: str) -> list[_Option]:
    return [
        _Option(
            tuple(action.option_strings),
            action.help or "",
            tuple(map(str, action.choices or ())),
            action.nargs != 0,
        )
        for action in _actions(command)
        if action.option_strings
    ]


def _words(command: str) -> tuple[str, ...]:
    """What may stand for the first argument of a command that takes no files."""
    if command == "explain":
        from mtcodegen.findings.codes import Code

        return tuple(code.name for code in Code)
    return tuple(
        str(word) for action in _actions(command) if not action.option_strings for word in action.choices or ()
    )


def _bash() -> str:
    cases = []
    for command in COMMANDS:
        options = _options(command)
        for option in options:
            if option.values:
                patterns = "|".join(f"{command}:{name}" for name in option.names)
                values = " ".join(option.values)
                cases.append(f'    {patterns}) COMPREPLY=($(compgen -W "{values}" -- "$current")); return ;;')
        names = " ".join(name for option in options for name in option.names)
        cases.append(f'    {command}:*) options="{names}" words="{" ".join(_words(command))}" ;;')
    lines = "\n".join(cases)
    return f"""\
_mtcodegen() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" options="" words=""
  COMPREPLY=()
  local command="${{COMP_WORDS[1]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "{" ".join(COMMANDS)} --help --version" -- "$current"; compgen -f -- "$current")
    return
  fi
  case "$previous$current" in  # --format=json is three words here
    *=) current="" ;;
    =*) previous="${{COMP_WORDS[COMP_CWORD-2]}}" ;;
  esac
  case " {" ".join(COMMANDS)} " in
    *" $command "*) ;;
    *) command=generate ;;
  esac
  case "$command:$previous" in
{lines}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;  # without any, bash completes files
  esac
}}
complete -o filenames -o default -F _mtcodegen mtcodegen
"""


def _zsh() -> str:
    commands = "\n".join(f"    {shlex.quote(f'{name}:{text}')}" for name, text in COMMANDS.items())
    cases = []
    for command in COMMANDS:
        specs = [_zsh_option(option) for option in _options(command)]
        words = _words(command)
        specs.append(f"'*:argument:({' '.join(words)})'" if words else "'*:file:_files'")
        cases.append(f"    {command}) _arguments {' '.join(specs)} ;;")
    lines = "\n".join(cases)
    generate = f"_arguments {' '.join(map(_zsh_option, _options('generate')))} '*:file:_files'"  # the default
    return f"""\
#compdef mtcodegen
_mtcodegen() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _files
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
{lines}
    *) {generate} ;;
  esac
}}
if [ "$funcstack[1]" = _mtcodegen ]; then
  _mtcodegen "$@"  # loaded from a folder of $fpath, this file is the function at its first call
else
  compdef _mtcodegen mtcodegen
fi
"""


def _zsh_option(option: _Option) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", " ")
    value = f":value:({' '.join(option.values)})" if option.values else ":value:_files" if option.takes_value else ""
    names = [f"{name}=" if value and name.startswith("--") else name for name in option.names]  # --format=json, too
    return " ".join(shlex.quote(f"{name}[{text}]{value}") for name in names)


def _fish() -> str:
    none = "not __fish_seen_subcommand_from " + " ".join(COMMANDS)
    lines = [f"complete -c mtcodegen -n '{none}' -a {name} -d {_fish_quoted(text)}" for name, text in COMMANDS.items()]
    for command in COMMANDS:
        default = f"{none}; or " if command == "generate" else ""
        when = f"complete -c mtcodegen -n '{default}__fish_seen_subcommand_from {command}'"
        for option in _options(command):
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" -x -a '{' '.join(option.values)}'" if option.values else " -r" if option.takes_value else ""
            lines.append(f"{when} {names}{value} -d {_fish_quoted(option.help)}")
        if _words(command):
            lines.append(f"{when} -f -a '{' '.join(_words(command))}'")
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
