"""The plugins, one file for each, named as upstream names them. `PLUGINS` maps names to plugin classes.

`contrib/` has those of sigs.k8s.io/scheduler-plugins, the others are part of kube-scheduler.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from scheduler_core.api.profile import PluginInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins import contrib
from scheduler_core.releases import NEWEST, RELEASES


def _classes() -> Iterator[type[fwk.Plugin]]:
    """Yield the plugin classes of the modules of this package and of `contrib`."""
    found = (*iter_modules(__path__, f"{__name__}."), *iter_modules(contrib.__path__, f"{contrib.__name__}."))
    for info in found:
        module = import_module(info.name)
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, fwk.Plugin) and cls.__module__ == module.__name__ and cls.name:
                yield cls


_ORDER = {name: index for index, (name, _) in enumerate(RELEASES[NEWEST].default_plugins)}

PLUGINS: dict[str, type[fwk.Plugin]] = {
    cls.name: cls for cls in sorted(_classes(), key=lambda cls: (_ORDER.get(cls.name, len(_ORDER)), cls.name))
}
"""All plugins that a configuration may enable: the default plugins of the newest release in their order, then the
others by name."""

REGISTRY: dict[str, type[fwk.Plugin]] = {name: cls for name, cls in PLUGINS.items() if cls.in_tree}
"""The plugins that are part of kube-scheduler. PLUGINS also has out-of-tree plugins that are built in."""


def known_plugins(registry: Mapping[str, type[fwk.Plugin]]) -> dict[str, PluginInfo]:
    """Return the plugins against which configurations are validated, by name."""
    return {
        name: PluginInfo(
            frozenset(point for point, base in fwk.POINTS.items() if issubclass(cls, base)), cls.args_class
        )
        for name, cls in registry.items()
    }
