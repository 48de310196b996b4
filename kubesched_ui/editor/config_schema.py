"""Schema of the scheduler configuration API, in the format of the Kubernetes schema table."""

from __future__ import annotations

from functools import cache
from typing import Any

from scheduler_core.config.introspection import VERSIONS, described, offered
from scheduler_core.config.schema import GROUP, KIND
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import RELEASES


@cache
def configurations() -> dict[str, Any]:
    """Return the schema of all configuration versions.

    The result is {versions: API version -> type, args: API version -> plugin -> type, types, releases: release ->
    API version -> plugin -> extension points}. An unknown field of such a type is an error (`strict`).
    """
    versions: dict[str, str] = {}
    args: dict[str, dict[str, str]] = {}
    types: dict[str, dict[str, Any]] = {}
    known = known_plugins(PLUGINS)
    for version in VERSIONS:
        told = described(version, known)
        versions[f"{GROUP}/{version}"] = told.root
        args[f"{GROUP}/{version}"] = dict(told.args)
        types |= {name: {"fields": fields, "strict": True} for name, fields in told.types.items()}
    releases = {
        name: {
            f"{GROUP}/{version}": offered(release, version, known)
            for version in release.api_versions
            if version in VERSIONS
        }
        for name, release in RELEASES.items()
    }
    return {"kind": KIND, "versions": versions, "args": args, "types": types, "releases": releases}
