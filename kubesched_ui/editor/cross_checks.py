"""Checks across objects: duplicate names, references to missing objects, the scenario and its timeline."""

import re

import msgspec

from kubesched_ui.editor import config_validation
from kubesched_ui.editor.diagnostics import Diagnostics
from kubesched_ui.editor.object_index import OBJECTS, IndexedObject, ObjectIndex
from kubesched_ui.editor.schema import did_you_mean, most_similar
from kubesched_ui.editor.yaml_documents import Document, path_steps
from kubesched_ui.ingest import scenario_time
from kubesched_ui.ingest.errors import shown
from kubesched_ui.ingest.kinds import KINDS, neighbour
from kubesched_ui.ingest.values import Path, as_map, maps_in, pod_spec
from scheduler_core.controllers.admission import SYSTEM_CLASSES
from scheduler_core.errors import InputError
from scheduler_core.releases import Release
from scheduler_core.virtual_time.scenario import ScenarioSpec

CONFIG: Path = ("spec", "config")
Key = tuple[str, str, str]
_UNKNOWN = re.compile("Object contains unknown field `(.*)`$")
_FIELDS = [field.encode_name for field in msgspec.structs.fields(ScenarioSpec)]


def check(object_index: ObjectIndex) -> dict[int, Diagnostics]:
    """Return the problems of each object that concern other objects."""
    names = {key_of(obj) for obj in object_index.objects}
    found: dict[int, Diagnostics] = {}
    seen: dict[Key, int] = {}
    for number, obj in enumerate(object_index.objects):
        mine = found[number] = Diagnostics()
        if not obj.name:
            continue
        key = key_of(obj)
        if key in seen:
            mine.error((*obj.path, "metadata", "name"), f"there is another {obj.kind} named {shown(obj.name)}")
        seen[key] = number
        _check_references(obj, names, mine)
    return found


def key_of(obj: IndexedObject) -> Key:
    """Return kind, namespace and name."""
    kind = neighbour(obj.kind, obj.api, f"{obj.namespace}/{obj.name}") or KINDS.get(obj.kind)
    return kind.name if kind else obj.kind, (obj.namespace or "default") if kind and kind.namespaced else "", obj.name


def _check_references(obj: IndexedObject, names: set[Key], found: Diagnostics) -> None:
    """Warn about references to objects that are not in the text. They are not errors, because such objects may be
    created later."""
    at, spec = pod_spec(obj.value)
    path: Path = (*obj.path, *at)
    node, priority = spec.get("nodeName"), spec.get("priorityClassName")
    if isinstance(node, str) and node and ("Node", "", node) not in names:
        found.warn((*path, "nodeName"), f"there is no node {shown(node)}")
    known = not isinstance(priority, str) or priority in SYSTEM_CLASSES
    if priority and not known and ("PriorityClass", "", priority) not in names:
        found.warn((*path, "priorityClassName"), f"there is no PriorityClass {shown(priority)}")
    for index, volume in maps_in(spec.get("volumes")):
        name = as_map(volume.get("persistentVolumeClaim")).get("claimName")
        if isinstance(name, str) and ("PersistentVolumeClaim", obj.namespace or "default", name) not in names:
            at_claim = (*path, "volumes", index, "persistentVolumeClaim", "claimName")
            found.warn(at_claim, f"there is no PersistentVolumeClaim {shown(name)}")


def check_scenario(document: Document, object_index: ObjectIndex, release: Release) -> Diagnostics:
    """Return what a run would reject in the scenario apart from its objects. `release`: the one that the scenario
    names."""
    found = Diagnostics()
    value = document.value
    metadata, spec = value.get("metadata"), value.get("spec")
    if metadata is not None and not isinstance(metadata, dict):
        found.error(("metadata",), "must be a map with a name")
    if not isinstance(spec, dict):
        found.error(("spec",) if "spec" in value else (), "spec is missing; it may be empty: spec: {}")
        return found
    if not isinstance(spec.get("objects", []), list | None):
        found.error(OBJECTS, "must be a list of objects")
    if spec.get("config") and isinstance(spec["config"], dict | str):
        found += config_validation.check(spec["config"], release, CONFIG)
    if any(problem.severity == "error" for problem in found):
        return found
    rest = {key: content for key, content in spec.items() if key != "objects" and content is not None}
    try:
        scenario_time.check(rest)
    except InputError as error:
        at = path_steps(error.field) or ("spec",)
        if unknown := _UNKNOWN.match(error.problem):
            meant = most_similar(unknown[1], _FIELDS) if at == ("spec",) else ""
            found.error((*at, unknown[1]), f"is not a known field{did_you_mean(meant)}", meant)
        else:
            found.error(at, shown(error.problem))
        return found
    nodes = {obj.name for obj in object_index.objects if obj.kind == "Node"}
    for index, entry in enumerate(spec.get("timeline") or ()):
        created = as_map(entry.get("create"))
        if created.get("kind") == "Node":
            nodes.add(str((created.get("metadata") or {}).get("name")))
        path = ("spec", "timeline", index)
        for operation in ("taint", "untaint"):
            content = entry.get(operation)
            if isinstance(content, dict) and content.get("node") not in nodes:
                found.warn((*path, operation, "node"), f"there is no node {shown(content.get('node', ''))}")
        for operation in ("cordon", "uncordon", "drain"):
            name = entry.get(operation)
            if isinstance(name, str) and name not in nodes:
                found.warn((*path, operation), f"there is no node {shown(name)}")
    return found
