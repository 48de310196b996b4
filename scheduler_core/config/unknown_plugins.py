"""Plugins that a configuration enables and that are not there: an error that names all of them, or left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scheduler_core.config.known_out_of_tree import what_is
from scheduler_core.config.syntax import shown
from scheduler_core.errors import InputError

Unknown = Literal["error", "leave_out"]
CHOICES: tuple[Unknown, ...] = ("error", "leave_out")

MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class UnknownPlugin:
    """One that is enabled somewhere. `what`: what it is, where it is well known. `where`, `field`: the first place."""

    name: str
    what: str
    where: str
    field: str

    def __str__(self) -> str:
        return shown(self.name) + (f" ({self.what})" if self.what else "")


class UnknownPlugins(InputError):
    """`plugins`: all of them, each once. `rest`: what is wrong with the configuration without them, None if nothing."""

    def __init__(self, release: str, plugins: Sequence[UnknownPlugin], rest: InputError | None) -> None:
        first = plugins[0]
        if len(plugins) == 1:
            hint = f" ({first.what})" if first.what else ""
            where, field = first.where, first.field
            problem = f"plugin {shown(first.name)} is not part of kube-scheduler {release}{hint}"
        else:
            told = "; ".join(map(str, plugins[:MAX_NAMED]))
            more = f"; and {len(plugins) - MAX_NAMED} more" if len(plugins) > MAX_NAMED else ""
            where, field = "KubeSchedulerConfiguration", "plugins"
            problem = f"{len(plugins)} plugins are not part of kube-scheduler {release}: {told}{more}"
        super().__init__(where, field, problem + (f". Without them it is refused, too: {rest}" if rest else ""))
        self.release = release
        self.plugins = tuple(plugins)
        self.rest = rest


def named_once(found: Iterable[tuple[str, str, str]], known: Iterable[str]) -> list[UnknownPlugin]:
    """(name, where, field) of every place as one entry a name, in the order found."""
    plugins: dict[str, UnknownPlugin] = {}
    for name, where, field in found:
        if name not in plugins:
            plugins[name] = UnknownPlugin(name, what_is(name, known), where, field)
    return list(plugins.values())
