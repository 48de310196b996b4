"""The plugins of a profile, in the order in which the framework runs them.

Upstream: mergePlugins (pkg/scheduler/apis/config/v1/default_plugins.go) merges a profile's `plugins` into the defaults.
NewFramework and expandMultiPointPlugins (pkg/scheduler/framework/runtime/framework.go) then expand the MultiPoint list
to the extension points.
"""

from collections.abc import Mapping

from scheduler_core.api.profile import POINTS, KnownPlugins, points_of
from scheduler_core.api.scheduler_config import Plugin, PluginSet
from scheduler_core.api.syntax import shown
from scheduler_core.errors import InputError
from scheduler_core.releases.release import PluginWeights, Release

Plugins = Mapping[str, PluginSet]
"""Extension point or multiPoint -> its enabled and disabled plugins."""


def default_plugins(release: Release, api_version: str, known: KnownPlugins) -> Plugins:
    """Return the default plugins of that API version. Defaults that are not `known` are left out."""
    if api_version not in ("v1alpha2", "v1beta1", "v1beta2"):
        return {"multiPoint": _plugin_set(release.default_plugins, known)}
    # these list their defaults for each point, and three of their weights are lower
    points = release.default_points.get(api_version) or release.default_points.get("v1beta2")
    if points is None:
        lower = {"InterPodAffinity": 1, "NodeAffinity": 1, "TaintToleration": 1}
        weights = tuple((name, lower.get(name, weight)) for name, weight in release.default_plugins)
        points = {
            point: tuple(
                (name, weight)
                for name, weight in weights
                # VolumeBinding has no weight: in these versions it scores only if a feature gate is on
                if point in points_of(known, name) and (weight or point != "score")
            )
            for point in POINTS
        }
    return {point: _plugin_set(plugins, known) for point, plugins in points.items()}


def merge(defaults: Plugins, custom: Plugins, *, in_place: bool) -> dict[str, PluginSet]:
    """Merge `custom` into `defaults`, as mergePlugins does.

    `in_place`: a default that is enabled again keeps its position (v1beta1 appends it, so that it is a duplicate).
    """
    return {
        point: _merge_set(defaults.get(point, PluginSet()), custom.get(point, PluginSet()), in_place)
        for point in ("multiPoint", *POINTS)
    }


def lists_all(defaults: Plugins, custom: Plugins) -> bool:
    """Return whether `custom` enables every default plugin again, as a file that kube-scheduler itself wrote does."""
    return all(
        {plugin.name for plugin in default.enabled} <= {plugin.name for plugin in custom[point].enabled}
        for point, default in defaults.items()
    )


def expand(where: str, plugins: Plugins, known: KnownPlugins) -> dict[str, PluginWeights]:
    """Return extension point -> (plugin name, weight) in running order, as NewFramework does.

    All plugins must be `known`. Raises InputError for a plugin enabled twice or at a point that it does not implement,
    for no or several queueSort plugins, and for no bind plugin.
    """
    expanded = {point: expand_point(where, point, plugins, known) for point in POINTS}
    if len(expanded["queueSort"]) != 1:
        names = ", ".join(expanded["queueSort"]) or "none"
        raise InputError(where, "plugins.queueSort", f"must have exactly one plugin enabled, got {names}")
    if not expanded["bind"]:
        raise InputError(where, "plugins.bind", "must have at least one plugin enabled")
    weights: dict[str, int] = {}
    for plugin in (*plugins["score"].enabled, *plugins["multiPoint"].enabled):
        weights.setdefault(plugin.name, plugin.weight or 1)
    return {
        point: tuple((name, weights[name] if point == "score" else 0) for name in names)
        for point, names in expanded.items()
    }


def _plugin_set(plugins: PluginWeights, known: KnownPlugins) -> PluginSet:
    return PluginSet(enabled=tuple(Plugin(name=name, weight=weight) for name, weight in plugins if name in known))


def _merge_set(default: PluginSet, custom: PluginSet, in_place: bool) -> PluginSet:
    disabled = {plugin.name for plugin in custom.disabled}
    # if a name occurs twice, upstream takes the last one; the first stays as a duplicate
    again = {plugin.name: index for index, plugin in enumerate(custom.enabled)} if in_place else {}
    enabled: list[Plugin] = []
    replaced: set[int] = set()
    for plugin in default.enabled if "*" not in disabled else ():
        if plugin.name in disabled:
            continue
        index = again.get(plugin.name)
        if index is not None:
            replaced.add(index)
            plugin = custom.enabled[index]
        enabled.append(plugin)
    enabled.extend(plugin for index, plugin in enumerate(custom.enabled) if index not in replaced)
    return PluginSet(enabled=tuple(enabled), disabled=custom.disabled)


def expand_point(where: str, point: str, plugins: Plugins, known: KnownPlugins) -> list[str]:
    """Return the plugins of one point in running order. Raises InputError as `expand` does."""
    specific: list[str] = []
    for plugin in plugins[point].enabled:
        if point not in known[plugin.name].points:
            raise InputError(where, f"plugins.{point}.enabled", f"plugin {shown(plugin.name)} does not extend {point}")
        if plugin.name in specific:
            raise _twice(where, point, plugin.name)
        specific.append(plugin.name)
    disabled = {plugin.name for plugin in plugins[point].disabled}
    if "*" in disabled:
        return specific
    overriding: set[str] = set()
    from_multi_point: list[str] = []
    for plugin in plugins["multiPoint"].enabled:
        if point not in known[plugin.name].points or plugin.name in disabled:
            continue
        if plugin.name in specific:
            overriding.add(plugin.name)
        elif plugin.name in from_multi_point:
            raise _twice(where, "multiPoint", plugin.name)
        else:
            from_multi_point.append(plugin.name)
    return [
        *(name for name in specific if name in overriding),
        *from_multi_point,
        *(name for name in specific if name not in overriding),
    ]


def times_loaded(plugins: Plugins, known: KnownPlugins) -> dict[str, int]:
    """Return the Score plugins that kube-scheduler 1.24 to 1.28 loads several times -> how often.

    expandMultiPointPlugins deletes from the list that it iterates over, so that later entries move forward and the
    last one stays behind (kubernetes/kubernetes#122066).
    """
    names = [plugin.name for plugin in plugins["score"].enabled]
    disabled = {plugin.name for plugin in plugins["score"].disabled}
    if "*" in disabled:
        return {}
    overriding = {
        plugin.name
        for plugin in plugins["multiPoint"].enabled
        if plugin.name not in disabled and "score" in points_of(known, plugin.name)
    }.intersection(names)
    position, left = {name: i for i, name in enumerate(names)}, len(names)
    loaded: dict[str, int] = {}
    deleted = 0
    for i in range(len(names)):
        name = names[i]
        if name not in overriding:
            continue
        loaded[name] = loaded.get(name, 0) + 1
        if name in position:
            at = position.pop(name) - deleted
            names[at : left - 1] = names[at + 1 : left]
            left, deleted = left - 1, deleted + 1
    for name in names[:left]:
        loaded[name] = loaded.get(name, 0) + 1
    return {name: times for name, times in loaded.items() if times > 1}


def _twice(where: str, point: str, name: str) -> InputError:
    return InputError(where, f"plugins.{point}.enabled", f"plugin {shown(name)} is enabled twice")
