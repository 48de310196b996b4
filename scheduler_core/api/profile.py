"""A profile of a scheduler: the plugins that run at each extension point, and their arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scheduler_core.api.plugin_args import PluginArgs

POINTS = (
    *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score"),
    *("reserve", "permit", "preBind", "bind", "postBind"),
)
"""The extension points in the order in which a pod passes them."""


class PluginInfo(NamedTuple):
    """The extension points that a plugin implements, and the class of its arguments."""

    points: frozenset[str]
    args_class: type[PluginArgs] | None = None


KnownPlugins = Mapping[str, PluginInfo]
"""The available plugins by name."""


def points_of(known: KnownPlugins, name: str) -> frozenset[str]:
    """Return the extension points of a plugin; none if it is not known."""
    return known[name].points if name in known else frozenset()


class Repeated(NamedTuple):
    """A Score plugin that the release loads several times. `weight`: the weight in the configuration."""

    times: int
    weight: int


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A profile: one scheduler of the configuration.

    `plugins`: every extension point -> (plugin name, weight) in running order; the weight is 0 at all points but score.
    `args`: plugin name -> its arguments: an object of its `args_class`, or a dict without one.
    `percentage_of_nodes_to_score`: None uses the configuration's value. `given`: plugin -> its arguments in the file.
    `given_weights`: plugin -> the path of its weight in the file. `repeated`: the Score plugins that are loaded several
    times; their weight in `plugins` is the effective one. For a Policy, `kinds`: name -> the algorithm that
    runs under it, if different; `always_check_all`: every predicate runs.
    """

    scheduler_name: str
    plugins: Mapping[str, tuple[tuple[str, int], ...]]
    percentage_of_nodes_to_score: int | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    given_weights: Mapping[str, str] = field(default_factory=dict)
    repeated: Mapping[str, Repeated] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    always_check_all: bool = False
