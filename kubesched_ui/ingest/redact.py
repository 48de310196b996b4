"""Removes data before anything is stored.

Confidential and unneeded data: see docs/formats.md, "What is left out". Values that must not be stored: nulls, which Go
reads as absent, and NUL characters, which PostgreSQL rejects.
"""

from collections import Counter
from typing import Any, NamedTuple

from kubesched_ui.ingest.errors import shown
from kubesched_ui.ingest.json_values import Json
from kubesched_ui.ingest.values import as_map, maps_in

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# Texts for the counters of `redact` and of the reader: (singular, plural).
NOTES = {
    "Secret": ("Secret", "Secrets"),
    "ConfigMap": ("ConfigMap", "ConfigMaps"),
    "env": ("value of an environment variable", "values of environment variables"),
    "managedFields": ("managedFields list", "managedFields lists"),
    "lastApplied": ("last-applied-configuration annotation", "last-applied-configuration annotations"),
    "events": (
        "event other than the latest ones about pods that wait, workloads and claims",
        "events other than the latest ones about pods that wait, workloads and claims",
    ),
    "logs": ("container log", "container logs"),
}


def notes(dropped: Counter[str]) -> list[str]:
    """Return one line per kind of removed data, such as `512 values of environment variables`."""
    return [f"{dropped[key]:,} {forms[dropped[key] != 1]}" for key, forms in NOTES.items() if dropped[key]]


def redact(obj: dict[str, Any], dropped: Counter[str]) -> None:
    """Remove managedFields, last-applied annotations and values of environment variables in place, and count them."""
    metadata, spec = as_map(obj.get("metadata")), as_map(obj.get("spec"))
    if metadata.pop("managedFields", None) is not None:
        dropped["managedFields"] += 1
    if as_map(metadata.get("annotations")).pop(LAST_APPLIED, None) is not None:
        dropped["lastApplied"] += 1
    for field in ("containers", "initContainers", "ephemeralContainers") if spec else ():
        for _, container in maps_in(spec.get(field)):
            if "env" in container:
                container["env"] = _names_only(container["env"], dropped)
    # Workloads contain a pod template; cron jobs contain a job template, which contains one.
    if inner := as_map(spec.get("template") or spec.get("jobTemplate")):
        redact(inner, dropped)


def _names_only(env: Any, dropped: Counter[str]) -> list[dict[str, str]]:
    """Return only the names of the variables; all other data is removed."""
    entries = [entry for _, entry in maps_in(env)]
    dropped["env"] += sum("value" in entry or "valueFrom" in entry for entry in entries)
    return [{"name": entry["name"]} for entry in entries if isinstance(entry.get("name"), str)]


# ---- values that must not be stored

NULL = "is a null element of a list; it was removed"
NUL = "contains a NUL character; it was replaced"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Cleaned(NamedTuple):
    """`path`: such as status.conditions[0]. `problem`: the text of the warning."""

    path: str
    problem: str


def may_need_cleaning(text: Json) -> bool:
    """Return whether the JSON of an object may contain what `clean` warns about: a null element of a list, or a NUL
    character. Few objects do, and this check is much cheaper than a walk over all values."""
    data = bytes(text)
    nulls, members = data.count(b"null"), data.count(b": null") + data.count(b":null")
    return nulls > members or b"\\u0000" in data


def clean(obj: dict[str, Any]) -> list[Cleaned]:
    """Remove nulls and replace NUL characters in place. Return the warnings. A member that is null means the same as an
    absent one and causes no warning; a null element of a list does."""
    found: list[Cleaned] = []
    _clean_map(obj, "", found)
    return found


def _clean_map(members: dict[str, Any], path: str, found: list[Cleaned]) -> None:
    for name in [name for name, value in members.items() if value is None]:
        del members[name]
    for name in [name for name in members if "\0" in name]:
        found.append(Cleaned(_join(path, shown(name)), NUL))
        members[name.replace("\0", REPLACEMENT)] = members.pop(name)
    for name, value in members.items():
        if type(value) is dict or type(value) is list or (type(value) is str and "\0" in value):
            members[name] = _cleaned(value, _join(path, name), found)


def _cleaned(value: Any, path: str, found: list[Cleaned]) -> Any:
    if isinstance(value, dict):
        _clean_map(value, path, found)
    elif isinstance(value, list):
        found += [Cleaned(f"{path}[{index}]", NULL) for index, entry in enumerate(value) if entry is None]
        value[:] = [_cleaned(entry, f"{path}[{n}]", found) for n, entry in enumerate(value) if entry is not None]
    elif isinstance(value, str) and "\0" in value:
        found.append(Cleaned(path, NUL))
        return value.replace("\0", REPLACEMENT)
    return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
