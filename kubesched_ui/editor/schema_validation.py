"""Validates one object against the Kubernetes schema. What kubectl rejects is an error; what it drops is a warning."""

from typing import Any

from kubesched_ui.editor import api_validation, schema
from kubesched_ui.editor.diagnostics import Diagnostics
from kubesched_ui.editor.yaml_documents import path_steps
from kubesched_ui.ingest.errors import shown
from kubesched_ui.ingest.kinds import lookup, neighbour
from kubesched_ui.ingest.values import Path, as_map, as_text
from scheduler_core.api import objects as core
from scheduler_core.api import quantity
from scheduler_core.api.fields import LIKELY
from scheduler_core.controllers import pod_template
from scheduler_core.errors import InputError
from scheduler_core.snapshot import defaults
from scheduler_core.stations.extra_kinds import read_fields

MOST = 40  # maximum number of problems per object
NAMES = {"text": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
IS = {"text": str, "integer": int, "number": int | float, "boolean": bool}


def check(obj: dict[str, Any], path: Path = ()) -> Diagnostics:
    """Return the problems of an object at `path` of its document."""
    found = Diagnostics()
    kind, api = obj.get("kind"), obj.get("apiVersion")
    if _is_read_by_waits(obj, path, found) or not _is_kind(kind, api, path, found):
        return found
    name = schema.type_of(str(kind), str(api or ""))
    if not name:
        return found
    walk(name, obj, path, found)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        at = (*path, "metadata", "name") if isinstance(metadata, dict) else (*path, "metadata")
        if metadata is None or isinstance(metadata, dict):
            found.error(at, "an object needs a name" if metadata else "is missing; an object needs a name")
    else:
        api_validation.name(str(kind), metadata, (*path, "metadata"), found)
    if not any(problem.severity == "error" for problem in found):
        _core(obj, path, found)
    return Diagnostics(found[:MOST])


def _is_read_by_waits(obj: dict[str, Any], path: Path, found: Diagnostics) -> bool:
    """Whether only answers about waits read the object, of which the schema knows nothing. Add what they refuse."""
    kind, api, metadata = as_text(obj.get("kind")), as_text(obj.get("apiVersion")), as_map(obj.get("metadata"))
    if kind == "Event" and lookup(kind, api):
        return True
    known = neighbour(kind, api, f"{metadata.get('namespace')}/{metadata.get('name')}")
    try:
        return known is not None and bool(read_fields(obj, known.name))
    except InputError as error:
        found.error((*path, *path_steps(error.field)), shown(error.problem))
        return True


def _is_kind(kind: Any, api: Any, path: Path, found: Diagnostics) -> bool:
    """Whether the kind exists in that version. Otherwise add a problem."""
    if not isinstance(kind, str) or not kind:
        found.error((*path, "kind") if kind is not None else path, "kind is missing: Node, Pod, Deployment ...")
        return False
    if not isinstance(api, str) or not api:
        wanted = next(iter(schema.versions_of(kind)), "")
        found.error(path, f"apiVersion is missing{f'; of a {kind} it is {wanted}' if wanted else ''}")
        return bool(schema.type_of(kind, ""))
    if schema.type_of(kind, api):
        return True
    if versions := schema.versions_of(kind):
        message = f'there is no kind {shown(kind)} in version "{shown(api)}"; it is in {" and ".join(versions)}'
        found.error((*path, "apiVersion"), message, versions[0], value=True)
    elif "." in api.partition("/")[0] and not api.partition("/")[0].endswith(".k8s.io"):
        found.warn((*path, "kind"), f"{shown(kind)} is a custom resource and is ignored")
    elif schema.is_known_kind(kind):
        found.warn((*path, "kind"), f"{shown(kind)} is ignored: the scheduler does not use it")
    else:
        meant = schema.most_similar(kind, list(schema.table()["kinds"]))
        message = f'there is no kind "{shown(kind)}" in version "{shown(api)}"{schema.did_you_mean(meant)}'
        found.error((*path, "kind"), message, meant, value=True)
    return False


def _core(obj: dict[str, Any], path: Path, found: Diagnostics) -> None:
    """Add the problems for which the core would reject an object that is valid by the schema."""
    try:
        core.decode(obj)
        if pod_template.makes_pods(obj) and defaults.is_typed(obj):
            pod_template.read(obj)
    except InputError as error:
        found.error((*path, *path_steps(error.field)), shown(error.problem))


# ---- types


def walk(name: str, value: Any, path: Path, found: Diagnostics) -> None:
    """Check `value` against a type that `schema.fields_of` knows. Null counts as missing."""
    if value is None or name == "any" or len(found) > MOST:
        return
    if name[0] == "[":
        _list(name[1:-1], value, path, found)
    elif name[0] == "{":
        _map(name[1:-1], value, path, found)
    elif name == "quantity":
        _quantity(value, path, found)
    elif name == "int-or-text":
        if isinstance(value, bool) or not isinstance(value, int | str):
            found.error(path, f"must be a whole number or a percentage, found {describe(value)}")
    elif name in IS:
        _plain(name, value, path, found)
    else:
        _object(name, value, path, found)


def _plain(name: str, value: Any, path: Path, found: Diagnostics) -> None:
    if isinstance(value, IS[name]) and (name == "boolean" or not isinstance(value, bool)):
        return
    if name == "text" and not isinstance(value, dict | list):
        word = str(value).lower() if isinstance(value, bool) else str(value)
        quoted = f'"{shown(word)}"'
        found.error(path, f"must be text, found {describe(value)}; put it in quotes: {quoted}", quoted, value=True)
    else:
        found.error(path, f"must be {NAMES[name]}, found {describe(value)}")


def describe(value: Any) -> str:
    """Describe a value in a few words."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{shown(value)}"' if isinstance(value, str) else f"the number {value}"


def _list(content: str, value: Any, path: Path, found: Diagnostics) -> None:
    if not isinstance(value, list):
        found.error(path, f"must be a list, found {describe(value)}; each element begins with -")
        return
    for index, item in enumerate(value):
        if item is None:
            found.error((*path, index), "is empty; remove it")
        walk(content, item, (*path, index), found)


def _map(content: str, value: Any, path: Path, found: Diagnostics) -> None:
    if not isinstance(value, dict):
        found.error(path, f"must be a map of names to values, found {describe(value)}")
        return
    for key, item in value.items():
        walk(content, item, (*path, key), found)


def _quantity(value: Any, path: Path, found: Diagnostics) -> None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        found.error(path, f"must be a quantity such as 500m or 2Gi, found {describe(value)}")
        return
    try:
        if quantity.value(value) < 0:
            found.error(path, f"must not be negative, found {shown(value)}")
    except ValueError:
        found.error(path, f'"{shown(value)}" is not a quantity: a number with an optional suffix m k M G T Ki Mi Gi Ti')


def _object(name: str, value: Any, path: Path, found: Diagnostics) -> None:
    fields = schema.fields_of(name)
    if fields is None:
        return
    if not isinstance(value, dict):
        found.error(path, f"must be a map with the fields of {name}, found {describe(value)}")
        return
    for field, content in value.items():
        if len(found) > MOST:
            return
        if field in fields:
            walk(fields[field][0], content, (*path, field), found)
        elif content is not None or not schema.is_strict(name):
            _unknown(name, field, list(fields), (*path, field), found)
    # components of the cluster write the status, and a simulated cluster does not need all of it
    for field in () if "status" in path else schema.required_of(name):
        if value.get(field) is None:
            found.error(path, f"{field} is missing")
    api_validation.check(name, value, path, found)


def _unknown(name: str, field: str, fields: list[str], path: Path, found: Diagnostics) -> None:
    meant = schema.most_similar(field, fields)
    hint = schema.did_you_mean(meant)
    if schema.is_strict(name):
        found.error(path, f"is not a field of {name}{hint}", meant)
        return
    owner = "" if meant else next((kind for kind in LIKELY if field in (schema.fields_of(kind) or ())), "")
    has = f"; {owner} has a field with this name" if owner else ""
    found.warn(path, f"is not a field of {name} and is ignored{hint or has}", meant)
