"""Validation of a scheduler configuration: fields and names with their lines, then everything that a run would
reject.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from kubesched_ui.editor.diagnostics import Diagnostics
from kubesched_ui.editor.object_index import ObjectIndex
from kubesched_ui.editor.schema import configurations, did_you_mean, most_similar
from kubesched_ui.editor.schema_validation import MOST, walk
from kubesched_ui.editor.yaml_documents import Text, path_steps
from kubesched_ui.ingest.errors import shown
from kubesched_ui.ingest.values import Path, as_map, maps_in
from kubesched_ui.ingest.yaml_writer import to_yaml
from scheduler_core.api.scheduler_config import KIND
from scheduler_core.config import Configuration
from scheduler_core.config.configuration import is_inside, is_usable
from scheduler_core.config.known_out_of_tree import WASM_GUEST, is_wasm_guest, what_is
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import NEWEST, Release, get_release

_WHERE = re.compile(r"(profiles|extenders)\[(\d+)\]")
_PLUGIN = re.compile(r": pluginConfig\[(\d+)\](?: \S*)?$")


def check(value: Any, release: Release, path: Path = ()) -> Diagnostics:
    """Return the problems of a configuration or Policy at `path` of its document."""
    found = Diagnostics()
    version = str(value.get("apiVersion")) if isinstance(value, dict) else ""
    root = configurations()["versions"].get(version)
    if root and value.get("kind") == KIND:
        walk(root, value, path, found)
        known = {plugin for plugin, _ in release.default_plugins}  # the release reads the arguments of these
        for name, args, at in _arguments(value, path):
            if name in known and (kind := configurations()["args"][version].get(name)):
                walk(kind, args, at, found)
        if not found:
            _names(value, version, release, path, found)
    if not any(problem.severity == "error" for problem in found):
        _core(value, release, path, found)
    return Diagnostics(found[:MOST])


def load_configuration(value: dict[str, Any] | str | None, release: Release) -> Configuration:
    """Load a configuration as a run does; None loads the release's default. Raises InputError."""
    return _loaded(to_yaml(value) if isinstance(value, dict) else value or None, release.name)


@lru_cache(maxsize=16)  # it is needed twice per analysis, and does not change while other parts of the text are edited
def _loaded(text: str | None, release: str) -> Configuration:
    return load(text, get_release(release), unknown="leave_out")


def _core(value: Any, release: Release, path: Path, found: Diagnostics) -> None:
    try:
        load_configuration(value, release)
    except InputError as error:
        if isinstance(value, dict):
            found.error((*path, *path_of(error)), shown(error.problem))
        else:
            found.error(path, shown(str(error)))


def path_of(error: InputError) -> Path:
    """Return the position in a configuration of an error of the core."""
    where: Path = ()
    if match := _WHERE.match(error.where):
        where = match[1], int(match[2])
        if inner := _PLUGIN.search(error.where):
            where = *where, "pluginConfig", int(inner[1])
    return *where, *path_steps(error.field)


# ---- plugins


def _lists(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    return (((*path, index), item) for index, item in maps_in(value))


def _arguments(value: dict[str, Any], path: Path) -> Iterator[tuple[str, Any, Path]]:
    """Yield (plugin, its arguments, their path)."""
    for at, profile in _lists(value.get("profiles"), (*path, "profiles")):
        for place, entry in _lists(profile.get("pluginConfig"), (*at, "pluginConfig")):
            if isinstance(entry.get("name"), str):
                yield entry["name"], entry.get("args"), (*place, "args")


def _offered(version: str, release: Release) -> Iterable[str]:
    """Return the available plugins; those of any release if this release does not read the version."""
    here = configurations()["releases"].get(release.minor, {})
    return here.get(version) or known_plugins(PLUGINS)


def _names(value: dict[str, Any], version: str, release: Release, path: Path, found: Diagnostics) -> None:
    """Warn about plugins that the release does not have. They are left out."""
    offered = _offered(version, release)
    guests = {name for name, args, _ in _arguments(value, path) if is_wasm_guest(args)}
    for at, profile in _lists(value.get("profiles"), (*path, "profiles")):
        places = [*_lists(profile.get("pluginConfig"), (*at, "pluginConfig"))]
        for point, plugins in (profile.get("plugins") or {}).items():
            for which in ("enabled", "disabled"):
                places += _lists((plugins or {}).get(which), (*at, "plugins", point, which))
        for place, entry in places:
            name = entry.get("name")
            if not isinstance(name, str) or name in offered or (name == "*" and "disabled" in place):
                continue
            if len(found) > MOST:
                return
            _unknown(name, (*place, "name"), version, release, found, name in guests)


def _unknown(name: str, path: Path, version: str, release: Release, found: Diagnostics, guest: bool) -> None:
    known = known_plugins(PLUGINS)
    if is_usable(name, release, version.rpartition("/")[2], known) and not is_inside(name, release):
        return  # a plugin of a later release, which the core accepts
    meant = most_similar(name, _offered(version, release))
    what = WASM_GUEST if guest else what_is(name, known)
    hint = did_you_mean(meant) or (f" ({what})" if what else "")
    message = f'there is no plugin "{shown(name)}" in kube-scheduler {release.name}; it is ignored{hint}'
    found.warn(path, message, meant, value=True)


# ---- the release


def release_of(text: Text, object_index: ObjectIndex) -> Release:
    """Return the release that the scenario names, else the newest."""
    value = text.documents[object_index.scenario].value if object_index.scenario >= 0 else {}
    try:
        return get_release(str(as_map(value.get("spec")).get("kubernetes") or NEWEST))
    except InputError:
        return get_release(NEWEST)
