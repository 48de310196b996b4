"""Translates the three resource scoring plugins of v1beta1 into NodeResourcesFit, which replaced them.

Upstream: v1beta1's NodeResourcesLeastAllocated (on by default), NodeResourcesMostAllocated and RequestedToCapacityRatio
became the scoring strategies of NodeResourcesFit in v1beta2.
"""

from typing import Any

from scheduler_core.api.scheduler_config import Plugin, PluginSet
from scheduler_core.errors import InputError

STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
FIT = "NodeResourcesFit"


def translate_legacy_scores(
    where: str, score: PluginSet, args: dict[str, Any]
) -> tuple[PluginSet, dict[str, Any], list[str]]:
    """Return the score point and the plugins' raw arguments in v1beta2 terms, and warnings about translations.

    Raises InputError if two of the three plugins are enabled, because NodeResourcesFit has one strategy.
    """
    disabled = {plugin.name for plugin in score.disabled}
    active = [plugin.name for plugin in score.enabled if plugin.name in STRATEGIES]
    if not disabled & {"*", "NodeResourcesLeastAllocated"} and "NodeResourcesLeastAllocated" not in active:
        active.insert(0, "NodeResourcesLeastAllocated")
    if len(active) > 1:
        problem = f"{' and '.join(active)} cannot both score: since v1beta2 one plugin, {FIT}, replaces them"
        raise InputError(where, "plugins.score.enabled", problem)
    named = [name for name in (*(plugin.name for plugin in score.enabled), *args) if name in STRATEGIES]
    warnings = [f"{where}: {name} is read as {FIT} scoring by {STRATEGIES[name]}" for name in dict.fromkeys(named)]
    translated = PluginSet(
        enabled=tuple(_renamed(plugin) for plugin in score.enabled),
        # NodeResourcesFit itself was not a default score plugin in v1beta1
        disabled=tuple(_renamed(plugin) for plugin in score.disabled if plugin.name != FIT),
    )
    rest = {name: given for name, given in args.items() if name not in STRATEGIES}
    if active:
        given = args.get(active[0], {})
        rest[FIT] = {**rest.get(FIT, {}), "scoringStrategy": _strategy(STRATEGIES[active[0]], given)}
    return translated, rest, warnings


def _renamed(plugin: Plugin) -> Plugin:
    return Plugin(name=FIT, weight=plugin.weight) if plugin.name in STRATEGIES else plugin


def _strategy(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    strategy = {"type": kind, **{key: value for key, value in given.items() if key not in ("apiVersion", "kind")}}
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": strategy.pop("shape", [])}
    return strategy
