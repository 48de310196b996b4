"""Loads out-of-tree plugins, given as `module:Class` or `path/to/file.py:Class`, and adds them to a registry.

A class may be columnar (scheduler_core.framework.interface) or evaluate one node at a time
(scheduler_core.framework.per_node).
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from scheduler_core.errors import InputError
from scheduler_core.framework.interface import POINTS, Plugin


def load_plugin(spec: str) -> type[Plugin]:
    """Return the plugin class given as `module:Class` or `file.py:Class`. This executes the module. Raises
    InputError."""
    place, colon, class_name = spec.rpartition(":")
    if not colon or not place or not class_name:
        raise InputError("plugin", spec, "must be given as module:Class or file.py:Class")
    cls = getattr(_module(place, spec), class_name, None)
    if cls is None:
        raise InputError("plugin", spec, f"there is no {class_name} in {place}")
    if not isinstance(cls, type) or not issubclass(cls, Plugin) or not issubclass(cls, tuple(POINTS.values())):
        raise InputError("plugin", spec, "is not a plugin class: it must extend one of the framework's plugin classes")
    if not cls.name:
        raise InputError("plugin", spec, "has no name")
    return cls


def _module(place: str, spec: str) -> ModuleType:
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        source = importlib.util.spec_from_file_location(Path(place).stem, place)
        if source is None or source.loader is None:
            raise ImportError(f"{place} is not a Python file")
        module = importlib.util.module_from_spec(source)
        sys.modules.setdefault(source.name, module)
        source.loader.exec_module(module)
        return module
    except Exception as problem:  # a module may raise any exception
        raise InputError("plugin", spec, f"cannot be loaded: {type(problem).__name__}: {problem}") from problem


def with_plugins(specs: Iterable[str], registry: Mapping[str, type[Plugin]]) -> dict[str, type[Plugin]]:
    """Return the registry with these plugins added. Raises InputError, also if a name is already registered."""
    registry = dict(registry)
    for spec in specs:
        cls = load_plugin(spec)
        if cls.name in registry:
            raise InputError("plugin", spec, f"the name {cls.name} is taken")
        registry[cls.name] = cls
    return registry


def enabling(names: Iterable[str]) -> dict[str, Any] | None:
    """Return the default configuration with these plugins enabled in its profile; None if there are no names."""
    enabled = [{"name": name} for name in names]
    if not enabled:
        return None
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}],
    }
