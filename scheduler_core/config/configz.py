"""Reads the configuration that kube-scheduler shows at /configz.

Upstream: cmd/kube-scheduler/app/server.go. 1.36 and newer show the KubeSchedulerConfiguration of v1. Older releases
show the internal object, whose fields have their Go names.
"""

import re
from collections.abc import Mapping
from typing import Any

from scheduler_core.api.scheduler_config import GROUP, KIND

KEYS = ("componentconfig", GROUP)
"""The names under which components register their configuration. Other components also use the first."""

_INITIAL = re.compile(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z]")
_NOT_READ = ("healthzBindAddress", "metricsBindAddress", "algorithmSource")
"""Fields of the internal object that newer API versions lack. They do not change what profiles decide."""


def configz(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the configuration in an answer of /configz as a file has it; None if the document is something else."""
    if "kind" in document or len(document) > 2:
        return None
    for key in KEYS:
        shown = document.get(key)
        if isinstance(shown, Mapping) and (shown.get("kind") == KIND or key == GROUP or _is_internal(shown)):
            return dict(shown) if "kind" in shown else _external(shown)
    return None


def _is_internal(shown: Mapping[str, Any]) -> bool:
    return "PodMaxBackoffSeconds" in shown or "AlgorithmSource" in shown


def _external(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return an internal configuration with the names of a file."""
    named = _named(shown)
    version = named.get("apiVersion") or f"{GROUP}/{_version(named)}"
    left_out = () if version == f"{GROUP}/v1alpha1" else _NOT_READ
    kept = {key: value for key, value in named.items() if key not in left_out}
    return {**kept, "apiVersion": version, "kind": KIND}


def _version(named: Mapping[str, Any]) -> str:
    """Return the API version of the release whose internal object has these fields. 1.22 and newer name it."""
    profiles = named.get("profiles")
    first = profiles[0] if isinstance(profiles, list) and profiles else None
    plugins = first.get("plugins") if isinstance(first, dict) else None
    if profiles is None and "algorithmSource" in named:
        return "v1alpha1"
    if isinstance(plugins, dict) and "multiPoint" in plugins:
        return "v1"
    return "v1alpha2" if "bindTimeoutSeconds" in named else "v1beta1"


def _named(value: Any) -> Any:
    """Return a value whose Go names are those of a file. Values of the Kubernetes API have these already."""
    if isinstance(value, list):
        return [_named(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        (_INITIAL.sub(lambda initial: initial[0].lower(), key, count=1) if key[:1].isupper() else key): (
            _named(item) if key[:1].isupper() else item
        )
        for key, item in value.items()
        if item is not None
    }
