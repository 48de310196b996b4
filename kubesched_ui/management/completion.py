"""Scripts that complete `kubesched` in bash and zsh: commands, options, their choices, and files."""

import argparse
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.core.management import find_commands, load_command_class

from scheduler_core.__main__ import parser_of
from scheduler_core.releases import RELEASES

SHELLS = ("bash", "zsh")
INTERNAL = ("load_samples", "migrate", "prepare", "serve")  # commands that other commands start
OF_RELEASES = ("release", "to_release", "first", "last")  # options whose values are releases


def script(shell: str) -> str:
    """Return the script of a shell."""
    folder = str(Path(__file__).parent)
    ours = [name for name in find_commands(folder) if name not in INTERNAL]
    parsers = _subparsers(parser_of("kubesched"))
    parsers |= {name: load_command_class("kubesched_ui", name).create_parser("kubesched", name) for name in ours}
    parsers = {name: parsers[name] for name in sorted(parsers)}
    return (_bash if shell == "bash" else _zsh)(parsers)


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the core's commands; its `simulate` is ours."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {name: one for name, one in action.choices.items() if name != "simulate"}
    return found


def _options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            yield action


def _bash(parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    options, choices = [], []
    for name, parser in parsers.items():
        words = [option for action in _options(parser) for option in action.option_strings]
        options.append(f"    {name}) words={shlex.quote(' '.join(words))} ;;")
        for action in _options(parser):
            if values := list(RELEASES) if action.dest in OF_RELEASES else action.choices:
                keys = "|".join(f"{name}:{option}" for option in action.option_strings)
                choices.append(f"    {keys}) words={shlex.quote(' '.join(map(str, values)))} ;;")
    commands = " ".join(parsers)
    newline = "\n"
    return f"""\
# bash completion for kubesched
_kubesched() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= words= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
    --data) ((i++)) ;;
    -*) ;;
    *) command=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  if [[ -z $command ]]; then
    if [[ $previous != --data ]]; then
      [[ $current == -* ]] && words='--help --version --data' || words='{commands}'
      COMPREPLY=($(compgen -W "$words" -- "$current"))
    fi
    return
  fi
  case $command:$previous in
    completion:completion) words='{" ".join(SHELLS)}' ;;
{newline.join(choices)}
  esac
  if [[ -z $words && $current == -* ]]; then
    case $command in
{newline.join(options)}
    esac
  fi
  [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _kubesched kubesched
"""


def _zsh(parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return zsh's own form: its emulation of bash's completion runs the same function."""
    return f"""\
#compdef kubesched
# zsh completion for kubesched
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
{_bash(parsers)}"""
