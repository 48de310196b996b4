"""Context of the object page: an object at a timepoint of a run, or the run's configuration, as YAML with a marked
line.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from kubesched_ui.editor.yaml_documents import child, path_steps
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import Run
from kubesched_ui.queries.nodes import moment_of
from kubesched_ui.queries.recording_cache import object_at, recording_of

CONFIGURATION = "KubeSchedulerConfiguration"
MAX_LINES = 20_000

Step = str | int


def context(run: Run, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the context of run_object.html, or None if there is no such object. Raises NotRecorded, InputError."""
    kind, namespace, name = (query.get(key, "") for key in ("kind", "namespace", "name"))
    if not namespace:  # the API uses namespace/name
        namespace, _, name = name.rpartition("/")
    path = query.get("path", "")[:1000]
    page: dict[str, Any] = {"run": run, "kind": kind, "namespace": namespace, "name": name, "path": path}
    if kind == CONFIGURATION:
        text = run.config or ""
        steps = _in_configuration(_loaded(text), query.get("profile", ""), query.get("plugin", ""), path_steps(path))
        return page | {"plugin": query.get("plugin", ""), "lines": lines(text, steps), "default": not text}
    timepoint, moment = moment_of(query, recording_of(run))
    found = object_at(run, kind, f"{namespace}/{name}" if namespace else name, moment)
    if found is None:
        return None
    return page | {"cycle": timepoint.cycle, "lines": lines(to_yaml(found), path_steps(path))}


def lines(text: str, steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Return the lines of the text. The value at the path is marked, or its nearest parent if it is missing."""
    first, last = -1, -1
    node = _composed(text) if steps else None
    for step in steps:
        found = child(node, step)
        if found is None:
            break
        marked, node = found
        first = marked.start_mark.line
        last = node.end_mark.line if isinstance(node, yaml.ScalarNode) else first
    shown = text.splitlines()[:MAX_LINES]
    return [{"text": line, "hit": first <= i <= last} for i, line in enumerate(shown)]


def _composed(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None


def _loaded(text: str) -> Any:
    try:
        return yaml.safe_load(text) if text else {}
    except yaml.YAMLError:
        return {}


def _in_configuration(config: Any, profile: str, plugin: str, steps: Sequence[Step]) -> list[Step]:
    """Return the path of a plugin's argument in a profile of the configuration, or of a top-level field."""
    if not plugin and not profile:
        return list(steps)
    profiles = config.get("profiles") if isinstance(config, dict) else None
    named = [p.get("schedulerName") if isinstance(p, dict) else None for p in profiles or ()]
    if not named:
        return []
    index = named.index(profile) if profile in named else 0
    place: list[Step] = ["profiles", index]
    if steps and steps[0] == "plugins":
        return [*place, *steps]
    chosen = profiles[index] if isinstance(profiles, list) else None
    entries = chosen.get("pluginConfig") if isinstance(chosen, dict) else None
    for i, entry in enumerate(entries or ()):
        if isinstance(entry, dict) and entry.get("name") == plugin:
            return [*place, "pluginConfig", i, "args", *steps]
    return place
