"""Plugins from outside the tree: named `module:Class` or `path/to/file.py:Class`, registered beside the in-tree ones.

A class may be columnar (scheduler_core.framework.interface) or per node (scheduler_core.framework.per_node).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from scheduler_core.errors import InputError
from scheduler_core.framework.interface import POINTS, Plugin
from scheduler_core.plugins import PLUGINS


def load_plugin(spec: str) -> type[Plugin]:
    """The plugin class that `module:Class` or `file.py:Class` names. Its code runs. Raises InputError."""
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
    except Exception as problem:  # whatever a stranger's module raises
        raise InputError("plugin", spec, f"cannot be loaded: {type(problem).__name__}: {problem}") from problem


def with_plugins(specs: Iterable[str]) -> dict[str, type[Plugin]]:
    """The plugins there are with these beside them. Raises InputError, also for a name that is taken."""
    registry: dict[str, type[Plugin]] = dict(PLUGINS)
    for spec in specs:
        cls = load_plugin(spec)
        if cls.name in registry:
            raise InputError("plugin", spec, f"the name {cls.name} is taken")
        registry[cls.name] = cls
    return registry


def enabling(names: Iterable[str]) -> dict[str, Any] | None:
    """The default configuration with these plugins enabled in its profile; None without names."""
    enabled = [{"name": name} for name in names]
    if not enabled:
        return None
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}],
    }
