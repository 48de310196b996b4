"""The schema for the editor agrees with the decoder: it has every accepted field and no other."""

import re
from typing import Any

import pytest

from scheduler_core.api.scheduler_config import GROUP, KIND, ONLY_IN
from scheduler_core.config.introspection import VERSIONS, Described, described, offered
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import RELEASES, Release, get_release

SHAPE = re.compile(r"unknown field|^must be (a list|a mapping|a text|a number|a whole number|true or false)\b")
KNOWN = known_plugins(PLUGINS)
NEEDED: dict[str, dict[str, Any]] = {
    "RequestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}]},
    "NodeMetadata": {
        "metadataKey": "a",
        "metadataSource": "Label",
        "metadataType": "Number",
        "scoringStrategy": "Lowest",
    },
    "Peaks": {"WatcherAddress": "http://watcher", "NodePowerModel": {"n1": {"k0": 1.0}}},
}
PLAIN: dict[str, Any] = {"text": "", "integer": 0, "number": 0, "boolean": False, "any": {}}


def value_of(type_name: str, schema: Described, field: str, within: Any) -> Any:
    """Return a valid value of a field. `field`: put into the first map of type `within`."""
    if type_name[0] == "[":
        return [value_of(type_name[1:-1], schema, field, within)]
    if type_name[0] == "{":
        return {}
    if type_name in PLAIN:
        return PLAIN[type_name]
    fields = {
        name: value_of(one, schema, field, within) for name, (one, _) in schema.types[type_name].items() if one in PLAIN
    }
    return fields | ({field: 1} if type_name == within else {})


def error_of(config: dict[str, Any], release: Release) -> str:
    """Return the error of the core for these fields, "" for none."""
    try:
        load(config, release, unknown="leave_out")
    except InputError as error:
        return error.problem if SHAPE.search(error.problem) else ""
    return ""


def reader(version: str) -> Release:
    return next(release for release in RELEASES.values() if version in release.api_versions)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_field_is_accepted_and_no_other_is(version: str) -> None:
    schema, release = described(version, KNOWN), reader(version)
    base = {"apiVersion": f"{GROUP}/{version}", "kind": KIND}
    for field, (type_name, _) in schema.types[schema.root].items():
        if field not in base:
            assert error_of(base | {field: value_of(type_name, schema, "", None)}, release) == "", field
    assert "unknown field" in error_of(base | {"strange": 1}, release)
    profile = schema.types[schema.root]["profiles"][0][1:-1]
    for field, (type_name, _) in schema.types[profile].items():
        entry = {"schedulerName": "a"} | {field: value_of(type_name, schema, "", None)}
        assert error_of(base | {"profiles": [entry]}, release) == "", field
    every = {f"{place}{name}" for place, name in _places(schema, profile)}
    assert every.isdisjoint({name for name, versions in ONLY_IN.items() if version not in versions})
    assert every >= {name for name, versions in ONLY_IN.items() if version in versions}


def _places(schema: Described, profile: str) -> list[tuple[str, str]]:
    plugins = schema.types[profile]["plugins"][0]
    places = (("", schema.root), ("profiles.", profile), ("profiles.plugins.", plugins))
    return [(place, name) for place, kind in places for name in schema.types[kind]]


@pytest.mark.parametrize("version", VERSIONS)
def test_arguments_agree_with_the_decoder(version: str) -> None:
    schema, release = described(version, KNOWN), reader(version)
    base = {"apiVersion": f"{GROUP}/{version}", "kind": KIND}
    for plugin, _ in release.default_plugins:
        if plugin not in schema.args:
            continue
        kind = schema.args[plugin]
        for field, (type_name, _) in schema.types[kind].items():
            if field in ("apiVersion", "kind"):
                continue
            args = {field: value_of(type_name, schema, "", None)}
            assert error_of(base | _given(plugin, args), release) == "", (plugin, field)
            inner = type_name.strip("[]")
            if inner in schema.types:
                strange = {field: value_of(type_name, schema, "strange", inner)}
                assert "unknown field" in error_of(base | _given(plugin, strange), release), (plugin, field)
        assert "unknown field" in error_of(base | _given(plugin, {"strange": 1}), release), plugin


def _given(plugin: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"profiles": [{"schedulerName": "a", "pluginConfig": [{"name": plugin, "args": args}]}]}


def test_versions_differ_as_documented() -> None:
    v1, beta = described("v1", KNOWN), described("v1beta2", KNOWN)
    assert "healthzBindAddress" in beta.types[beta.root]
    assert "healthzBindAddress" not in v1.types[v1.root]
    assert beta.root == f"{KIND} of v1beta2"
    assert described("v1beta1", KNOWN).args["NodeResourcesFit"] == "NodeResourcesFitArgs of v1beta1"
    assert v1.types[KIND]["parallelism"] == ("integer", "16 if omitted")


@pytest.mark.parametrize("release", ["1.18", "1.22", "1.36"])
def test_offered_plugins_may_be_enabled(release: str) -> None:
    found = get_release(release)
    for version in found.api_versions:
        if version not in VERSIONS:
            continue
        for plugin, points in offered(found, version, KNOWN).items():
            for point in {"filter", "score"} & set(points):
                chosen = {point: {"disabled": [{"name": "*"}], "enabled": [{"name": plugin, "weight": 1}]}}
                needed = [{"name": plugin, "args": NEEDED[plugin]}] if plugin in NEEDED else []
                config = {"profiles": [{"schedulerName": "a", "plugins": chosen, "pluginConfig": needed}]}
                made = load({"apiVersion": f"{GROUP}/{version}", "kind": KIND, **config}, found)
                assert (plugin, int(point == "score")) in made.profiles[0].plugins[point]


def test_a_release_offers_its_plugins() -> None:
    newest, old = offered(get_release("1.36"), "v1", KNOWN), offered(get_release("1.22"), "v1beta2", KNOWN)
    assert newest["NodeResourcesFit"] == ["preFilter", "filter", "preScore", "score"]
    assert "ServiceAffinity" not in newest | old
    assert "ServiceAffinity" in offered(get_release("1.22"), "v1beta1", KNOWN)
    assert {"DynamicResources", "SchedulingGates"}.isdisjoint(old)
