"""Plugins that a configuration enables but that do not exist: an error that names all of them, or left out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scheduler_core.api.syntax import shown
from scheduler_core.config.known_out_of_tree import what_is
from scheduler_core.errors import InputError

Unknown = Literal["error", "leave_out"]
CHOICES: tuple[Unknown, ...] = ("error", "leave_out")

MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class UnknownPlugin:
    """An unknown plugin.

    `what`: its description if it is well known. `where`, `field`: the first place that enables it.
    """

    name: str
    what: str
    where: str
    field: str

    def __str__(self) -> str:
        return shown(self.name) + (f" ({self.what})" if self.what else "")


class UnknownPlugins(InputError):
    """The unknown plugins of a configuration.

    `plugins`: each plugin once. `rest`: a further error of the configuration without them, None if there is none.
    """

    def __init__(self, release: str, plugins: Sequence[UnknownPlugin], rest: InputError | None) -> None:
        first = plugins[0]
        if len(plugins) == 1:
            hint = f" ({first.what})" if first.what else ""
            where, field = first.where, first.field
            problem = f"plugin {shown(first.name)} is not part of kube-scheduler {release}{hint}"
        else:
            text = "; ".join(map(str, plugins[:MAX_NAMED]))
            more = f"; and {len(plugins) - MAX_NAMED} more" if len(plugins) > MAX_NAMED else ""
            where, field = "KubeSchedulerConfiguration", "plugins"
            problem = f"{len(plugins)} plugins are not part of kube-scheduler {release}: {text}{more}"
        super().__init__(where, field, problem + (f". Without them it is still invalid: {rest}" if rest else ""))
        self.release = release
        self.plugins = tuple(plugins)
        self.rest = rest


def named_once(
    found: Iterable[tuple[str, str, str]], known: Iterable[str], foreign: Mapping[str, str]
) -> list[UnknownPlugin]:
    """Return one entry per name from the (name, where, field) of every place, in the order found.

    `foreign`: plugins that are not those of their name here, with what they are.
    """
    plugins: dict[str, UnknownPlugin] = {}
    for name, where, field in found:
        if name not in plugins:
            what = foreign.get(name) or what_is(name, known)
            plugins[name] = UnknownPlugin(name, what, where, field)
    return list(plugins.values())
