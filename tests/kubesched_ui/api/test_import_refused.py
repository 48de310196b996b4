"""Invalid run files are rejected with file and field, and leave nothing behind."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kubesched_ui.models import Scenario
from tests.examples import selection
from tests.kubesched_ui.api.run_kinds import forked_twice, selected_pods, small, virtual_time_forked
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import executed, exported, imported, post

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def refused(client: Client, data: bytes) -> str:
    error: str = post(client, "/api/scenarios", data, 400)["error"]
    return error


def broken(document: dict[str, Any], path: str, value: Any) -> bytes:
    """Return the document with another value at a path, or without the value (...)."""
    *way, last = [int(part) if part.isdecimal() else part for part in path.split("/")]
    inside: Any = document
    for part in way:
        inside = inside[part]
    if value is ...:
        del inside[last]
    else:
        inside[last] = value
    return json.dumps(document).encode()


STAGE = "spec/stages/1"
DEEP: Any = []
for _ in range(70):
    DEEP = [DEEP]
HOSTILE: list[tuple[str, Any, str]] = [
    ("spec/scenario", ..., "expected a Kubernetes object, found null"),
    ("spec/scenario", [], "expected a Kubernetes object, found []"),
    ("spec/scenario/kind", "Pod", "spec.scenario: must be of kind Scenario"),
    ("spec/scenario/spec/objects", {}, "expected a list"),
    ("spec/scenario/spec/objects", [], "contains no object that the scheduler uses"),
    ("spec", 5, "spec: expected `object`, got `int`"),
    ("spec/settings", ..., "spec: object missing required field `settings`"),
    ("spec/settings", [], "spec.settings: expected `object`, got `array`"),
    ("spec/settings/seed", "7", "spec.settings.seed: expected `int`, got `str`"),
    ("spec/settings/seed", 2**63, "spec.settings.seed: must be an integer of 64 bits"),
    ("spec/settings/seed", True, "spec.settings.seed: expected `int`, got `bool`"),
    ("spec/settings/release", "9.99", "spec.settings: Kubernetes release: '9.99' is not"),
    ("spec/settings/release", "x" * 10_000, "spec.settings.release: expected `str` of length <= 1000"),
    ("spec/settings/config", "kind: Nonsense", "spec.settings"),
    ("spec/settings/config", "a\0b", "spec.settings.config: contains a NUL character"),
    ("spec/settings/tie_break", "coin", "spec.settings.tie_break: must be one of seed, name"),
    ("spec/settings/percentage", 900, "spec.settings.percentage: must be between 0 and 100"),
    ("spec/settings/until", 1e9, "spec.settings.until"),
    ("spec/settings/in_time", True, "spec.settings.in_time: must be the same as in spec.began"),
    ("spec/settings/colour", "red", "spec.settings.colour: is not a setting of this version of KubeSched"),
    ("spec/began", ..., "spec.began: is missing"),
    ("spec/began/pods", ["default/missing"], "spec.began.pods: the scenario has no pod 'default/missing'"),
    ("spec/began/copies", 10**12, "spec.began.template: is required for copies"),
    ("spec/began/template", "kind: Secret", "spec.began: Template: kind"),
    ("spec/began/unknown_plugins", "run", "spec.began.unknown_plugins"),
    ("spec/began/absent_claims", "invent", "spec.began"),
    ("spec/fork", ..., "spec.fork: is missing; stages are of forks"),
    ("spec/fork/stage", 2, "spec.fork.stage: must be less than 2"),
    ("spec/fork/stage", -1, "spec.fork.stage: expected `int` >= 0"),
    ("spec/fork/at", 10**12, "spec.fork.at: expected `int` <= 2147483647"),
    ("spec/stages", [], "spec.fork.stage: must be less than 0"),
    ("spec/stages", [{"at": 1, "t": None, "changes": [], "settings": {}}] * 21, "spec.stages: expected `array` of"),
    (f"{STAGE}/at", None, "spec.stages[1].at: or t is required"),
    (f"{STAGE}/at", 1, "spec.stages[1].at: is before an earlier stage"),
    (f"{STAGE}/t", 5.0, "spec.stages[1].at: or t is required, but not both"),
    (f"{STAGE}/changes", [{"explode": "n1"}], "spec.stages[1]: changes[0]: Object contains unknown field `explode`"),
    (f"{STAGE}/changes", [{}], "spec.stages[1]: changes[0]: must have exactly one of"),
    (f"{STAGE}/changes", [{"create": {"kind": "Secret"}}], "does not use objects of this kind"),
    (f"{STAGE}/changes", [{"create": {"kind": "Pod", "x": DEEP}}], "spec: is nested more than 64 levels deep"),
    (f"{STAGE}/changes", [{"cordon": "n1"}] * 1001, "spec.stages[1]: changes: must be at most 1,000, got 1,001"),
    (
        f"{STAGE}/changes",
        [{"create": pod("a/b")}],
        "spec.stages[1]: changes[0]: create: Pod default/a/b: metadata.name",
    ),
    (f"{STAGE}/settings", {"until": 10**9}, "spec.stages[1].until: is only for runs in virtual time"),
    (f"{STAGE}/settings", {"pods": []}, "spec.stages[1].settings.pods: must be one of release, config"),
    (f"{STAGE}/settings", {"seed": "x"}, "spec.stages[1].settings.seed: must be int, got 'x'"),
    ("spec/breakpoints", [{"name": "a", "where": "tied >"}], "spec.breakpoints[0]: where: line 1"),
    ("spec/breakpoints", [{"name": "a", "where": "x" * 3000}], "longer than 2,000 characters"),
    ("spec/breakpoints", [{"name": "", "where": "true"}], "spec.breakpoints[0].name: expected `str` of length >= 1"),
    ("spec/breakpoints", [{"name": "a", "where": "true"}] * 2, "spec.breakpoints[1].name: is already used"),
    ("spec/breakpoints", [{"name": "a", "where": "true"}] * 51, "spec.breakpoints: expected `array` of length <= 50"),
    ("spec/more", 1, "spec: object contains unknown field `more`"),
    ("metadata/name", 7, "metadata"),
    ("metadata/name", "x" * 201, "metadata.name: expected `str` of length <= 200"),
    ("metadata/name", "a\0b", "metadata.name: contains a NUL character"),
    ("status", [], "status: expected an object"),
    ("status/decisions", "###", "status.decisions: is not base64"),
    ("status/decisions", "AAAA", "status.decisions: must have 8 bytes per cycle, 7 cycles"),
    ("status/digest", "0" * 64, "status.digest: does not match status.decisions; the file is damaged"),
    ("status/cycles", 10**15, "status.decisions: must have 8 bytes per cycle"),
    ("status/cycles", -1, "status.cycles: expected `int` >= 0"),
    ("kind", "Runner", "kind: is unknown; there are Scenario and Run"),
]


def test_an_invalid_value_is_named_and_leaves_nothing(client: Client) -> None:
    data = exported(client, forked_twice(client))
    Scenario.objects.all().delete()
    for path, value, problem in HOSTILE:
        error = refused(client, broken(json.loads(data), path, value))
        assert problem in error, (path, value, error)
        assert not Scenario.objects.exists(), path
    error = refused(client, broken(json.loads(data), "status/digest", "0" * 64))
    assert error.startswith("upload, document 1 (Run both): status.digest")
    page = client.post("/upload/", {"text": broken(json.loads(data), "status/cycles", -1).decode()})
    assert page.status_code == 400
    assert "status.cycles: expected" in page.content.decode()


def test_an_invalid_virtual_time_run(client: Client) -> None:
    data = exported(client, virtual_time_forked(client))
    for path, value, problem in (
        ("spec/settings/until", 1e9, "spec.settings.until: must be more than 0 and at most 604800 s"),
        ("spec/began/until", 0, "spec.began.until: must be more than 0"),
        ("spec/stages/1/settings", {"until": 1e9}, "spec.stages[1].until: must be more than 0 and at most"),
        ("spec/stages/1/t", -1, "spec.stages[1].t: expected `float` >= 0"),
        ("spec/scenario/spec/timeline", [{"at": "1s", "explode": "n1"}], "explode"),
    ):
        assert problem in refused(client, broken(json.loads(data), path, value)), path
    run = imported(client, broken(json.loads(data), "spec/stages/1/changes", [{"cordon": "nowhere"}]))
    assert (run.state, run.error) == ("failed", "changes[0]: cordon: does not exist")


def test_a_run_file_must_be_the_only_file(client: Client) -> None:
    data = exported(client, small(client))
    other = as_list(node("n9"))
    for both in (data + b"\n" + other, other + b"\n" + data, data + data):
        assert "a run file must be uploaded alone" in refused(client, both)
    files = [SimpleUploadedFile("a.json", data), SimpleUploadedFile("b.json", other)]
    assert "a run file must be uploaded alone" in client.post("/upload/", {"file": files}).content.decode()
    error = refused(client, exported(client, small(client), "jsonl"))
    assert "is a JSON Lines export, which contains no cluster; export the run as a run file" in error


# ---- any value in any place

ODD: list[Any] = [
    None, True, 0, -1, 7, 10**9, 2**63, 1.5, 1e300, "", "x", "n1", "default/p1", "\0", "\u202e", "a" * 5000, "30s",
    "1.27", "name", [], {}, [[]], [{}], {"a": 1}, ["default/p1"], [{"drain": "n2"}],
    [{"weight": {"plugin": "ImageLocality"}}],
    [{"place": {"pod": "default/p1", "node": "n1"}}], [{"create": {"kind": "Pod", "metadata": {"name": "a/b"}}}],
    [{"patch": {"kind": "Node", "name": "n1", "patch": {"status": None}}}],
]  # fmt: skip


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values in a document, without those inside objects of the cluster."""
    if way:
        yield way
    if len(way) > 4 and way[3] == "objects":
        return
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*way, key))


@pytest.mark.parametrize(
    "make", selection([forked_twice, virtual_time_forked, selected_pods], 3), ids=lambda make: make.__name__
)
def test_any_value_in_any_place(client: Client, make: Any) -> None:
    data = exported(client, make(client))
    chance, answers = random.Random(make.__name__), Counter[int]()
    for _ in range(60):
        document = json.loads(data)
        *way, last = chance.choice(list(places(document)))
        inside = document
        for key in way:
            inside = inside[key]
        inside[last] = chance.choice(ODD)
        answer = client.post("/api/scenarios", json.dumps(document).encode(), content_type="application/octet-stream")
        answers[answer.status_code] += 1
        assert answer.status_code in (201, 400), (way, last, inside[last], answer.content)
        for number in answer.json().get("runs", ()):
            run = executed(number)
            assert run.state in ("done", "failed")
            assert "Internal error" not in run.error, (way, last, inside[last])
            assert client.get(f"/runs/{number}/").status_code == 200
            json.loads(exported(client, run))
    assert min(answers[201], answers[400]) > 5
