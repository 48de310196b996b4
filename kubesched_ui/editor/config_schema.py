"""What may stand in a scheduler's configuration, as the core tells it, spelled as in the table of Kubernetes' types."""

from __future__ import annotations

from functools import cache
from typing import Any

from scheduler_core.config.introspection import VERSIONS, described, offered
from scheduler_core.config.schema import GROUP, KIND
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import RELEASES


@cache
def configurations() -> dict[str, Any]:
    """{versions: API version -> type, args: API version -> plugin -> type, types, releases: release -> API version ->
    plugin -> extension points}. A field that such a type does not have is an error (`strict`)."""
    versions: dict[str, str] = {}
    args: dict[str, dict[str, str]] = {}
    types: dict[str, dict[str, Any]] = {}
    for version in VERSIONS:
        told = described(version)
        versions[f"{GROUP}/{version}"] = told.root
        args[f"{GROUP}/{version}"] = dict(told.args)
        types |= {name: {"fields": fields, "strict": True} for name, fields in told.types.items()}
    known = known_plugins(PLUGINS)
    releases = {
        name: {
            f"{GROUP}/{version}": offered(release, version, known)
            for version in release.api_versions
            if version in VERSIONS
        }
        for name, release in RELEASES.items()
    }
    return {"kind": KIND, "versions": versions, "args": args, "types": types, "releases": releases}
