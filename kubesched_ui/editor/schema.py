"""The Kubernetes schema as a table: kinds, the fields of each type, and the types of the fields.

`scripts/kubernetes_schema.py` generates the table and documents its type names. `custom_resources.json` has the kinds
that plugins of scheduler-plugins read, in the same notation.
"""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kubesched_ui.ingest.kinds import KINDS, lookup
from scheduler_core.api.scheduler_config import GROUP
from scheduler_core.api.scheduler_config import KIND as CONFIG_KIND
from scheduler_core.config.introspection import VERSIONS, described, offered
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import RELEASES
from scheduler_core.virtual_time.scenario import API_VERSION, KIND, json_schema

NEWEST_API = f"{GROUP}/v1"
FILE = Path(__file__).with_name("kubernetes.json")
CUSTOM_RESOURCES = Path(__file__).with_name("custom_resources.json")


@cache
def table() -> dict[str, Any]:
    """Return the whole table: {release, kinds, others, types}."""
    whole: dict[str, Any] = json.loads(FILE.read_text())
    custom = json.loads(CUSTOM_RESOURCES.read_text())
    for kind, versions in custom["kinds"].items():
        whole["kinds"].setdefault(kind, {}).update(versions)
    whole["types"] |= custom["types"]
    return whole


def type_of(kind: str, api: str) -> str:
    """Return the type of a supported kind, as served today for every version; "" for other kinds."""
    found = lookup(kind, api)
    if found is None:
        return ""
    served = table()["kinds"].get(found.served, {})
    return str(served.get(api) or served.get(found.api_version) or "")


def _type(name: str) -> dict[str, Any]:
    return table()["types"].get(name) or configurations()["types"].get(name, {})


def fields_of(name: str) -> dict[str, list[str]] | None:
    """Return field -> [type, description], or None for an unknown type."""
    return _type(name).get("fields")


def required_of(name: str) -> list[str]:
    return _type(name).get("required", [])


def is_strict(name: str) -> bool:
    """Whether an unknown field of the type is an error. Otherwise it is left out with a warning."""
    return bool(_type(name).get("strict"))


def versions_of(kind: str) -> list[str]:
    """Return the API versions that serve a kind today."""
    return list(table()["kinds"].get(kind, ()))


def is_known_kind(kind: str) -> bool:
    """Whether an API server has this kind."""
    return kind in KINDS or kind in table()["kinds"] or kind in table()["others"]


@cache
def completion_json() -> bytes:
    """Return the schema for completion in the editor, as JSON: the Kubernetes table, the types of our Scenario
    documents, and the scheduler configuration (`scheduler`: {kind, args, releases} of `configurations`)."""
    scheduler = dict(configurations())
    versions, types = scheduler.pop("versions"), scheduler.pop("types")
    described = json_schema()["$defs"]
    ours = {
        _type_name(name): {
            "fields": {
                field: [_type_of_field(field_schema), ""] for field, field_schema in definition["properties"].items()
            }
        }
        for name, definition in described.items()
        if "properties" in definition
    }
    ours[_type_name("ScenarioSpec")]["fields"]["config"] = [versions[NEWEST_API], ""]
    full_table = table()
    kinds = full_table["kinds"] | {KIND: {API_VERSION: _type_name(KIND)}, scheduler["kind"]: versions}
    return json.dumps(
        full_table | {"kinds": kinds, "types": full_table["types"] | ours | types, "scheduler": scheduler}
    ).encode()


def _type_name(name: str) -> str:
    return name if name.startswith(("Scenario", "Meta")) else f"Scenario{name}"


def _type_of_field(definition: dict[str, Any]) -> str:
    """Return the type of a field of a JSON schema in the notation of the table."""
    if some := [one for one in definition.get("anyOf", ()) if one.get("type") != "null"]:
        return _type_of_field(some[0])
    if ref := definition.get("$ref"):
        return _type_name(ref.rpartition("/")[2])
    if definition.get("type") == "array":
        return f"[{_type_of_field(definition.get('items', {}))}]"
    plain = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
    return plain.get(str(definition.get("type")), "any")


def most_similar(word: str, words: Iterable[str]) -> str:
    """Return the most similar of `words`, or "" if none is similar."""
    return _near(word.lower()[:100], tuple(words))


def did_you_mean(word: str) -> str:
    """Return the end of a message that suggests `word`; "" if it is empty."""
    return f"; did you mean {word}?" if word else ""


@lru_cache(maxsize=2_000)  # a snapshot repeats the same mistake in every object
def _near(word: str, words: tuple[str, ...]) -> str:
    by_letters = {one.lower(): one for one in words}
    close = get_close_matches(word, by_letters, 1, 0.7)
    return by_letters[close[0]] if close else ""


# ---- scheduler configuration


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
        definition = described(version, known)
        versions[f"{GROUP}/{version}"] = definition.root
        args[f"{GROUP}/{version}"] = dict(definition.args)
        types |= {name: {"fields": fields, "strict": True} for name, fields in definition.types.items()}
    releases = {
        name: {
            f"{GROUP}/{version}": offered(release, version, known)
            for version in release.api_versions
            if version in VERSIONS
        }
        for name, release in RELEASES.items()
    }
    return {"kind": CONFIG_KIND, "versions": versions, "args": args, "types": types, "releases": releases}
