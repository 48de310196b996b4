"""`kubesched completion bash|zsh`: prints a script that completes commands, options and files in a shell."""

from argparse import ArgumentParser
from typing import Any

from kubesched_ui.management.completion import SHELLS, script
from kubesched_ui.management.own_command import OwnCommand


class Command(OwnCommand):
    help = (
        "Prints a script that completes commands, options and files. "
        "For bash: kubesched completion bash > ~/.local/share/bash-completion/completions/kubesched. "
        "For zsh: kubesched completion zsh > ~/.kubesched.zsh, and `source ~/.kubesched.zsh` in ~/.zshrc."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("shell", choices=SHELLS)

    def handle(self, *args: Any, shell: str, **options: Any) -> None:
        self.stdout.write(script(shell), ending="")
