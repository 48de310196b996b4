"""Run files: a run that was exported and is imported into an instance that knows nothing of it is the same run."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from kubesched_ui.asking import provenance, recordings, remedies
from kubesched_ui.models import Run, Scenario
from kubesched_ui.recording.decided import traces
from kubesched_ui.runs import importing, lifecycle
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios import clusterview
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.api.test_debugger import ran
from tests.kubesched_ui.api.test_fork import asked, cycles_of, decided, events_of, forked, marks_of, moves_of, without
from tests.kubesched_ui.clusters import as_list, node, pod, taught

pytestmark = pytest.mark.django_db

OWN = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: ImageLocality, weight: 7}]}}
"""
GANG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {reserve: {enabled: [{name: Coscheduling}]}, permit: {enabled: [{name: Coscheduling}]}}
"""
CORDON, PLACE = {"cordon": "n1"}, {"place": {"pod": "default/p3", "node": "n2"}}


@pytest.fixture
def client() -> Client:
    return Client(headers={"host": "localhost"})


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle.app, "send_task", lambda name, args: None)


def exported(client: Client, run: Run, form: str = "run") -> bytes:
    answer = client.get(f"{run.url}/export", {"format": form})
    assert answer.status_code == 200

    async def whole() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    from asgiref.sync import async_to_sync

    return async_to_sync(whole)()


def sent(client: Client, data: bytes, status: int = 201) -> Any:
    answer = client.post("/api/scenarios", data, content_type="application/octet-stream")
    assert answer.status_code == status, answer.content
    return answer.json()


def imported(client: Client, data: bytes) -> Run:
    (number,) = sent(client, data)["runs"]
    execute_run(number)
    return Run.objects.select_related("scenario").get(pk=number)


def small(client: Client, **settings: Any) -> Run:
    pods = [pod(f"p{i}", cpu="1") for i in range(6)]
    return ran(client, as_list(node("n1", cpu="2"), node("n2", cpu="3"), node("n3", cpu="2"), *pods), **settings)


def twice(client: Client) -> Run:
    first = forked(client, small(client), at=4, changes=[{"create": node("n9", cpu="8")}, {"create": pod("late")}])
    return forked(client, first, at=2, changes=[CORDON, PLACE], settings={"seed": 9, "config": OWN}, name="both")


def twice_later(client: Client) -> Run:
    first = forked(client, small(client), at=3, changes=[CORDON], settings={"release": "1.27"})
    return forked(client, first, at=6, changes=[{"uncordon": "n1"}, {"create": pod("z")}])


def at_the_end(client: Client) -> Run:
    return forked(client, small(client), at=7, changes=[{"delete": {"kind": "Pod", "namespace": "default", "name": "p0"}}])


def preempting(client: Client) -> Run:
    run = ran(client, taught(), seed=5)
    assert run.pod_results.exclude(nominated_node="").exists()
    return run


def in_time(client: Client) -> Run:
    return ran(client, next(FOLDER.glob("13-*.yaml")).read_bytes(), until=60)


def in_time_forked(client: Client) -> Run:
    run = in_time(client)
    first = forked(client, run, t=20.5, changes=[{"cordon": (run.node_names or [])[0]}], settings={"until": 90})
    return forked(client, first, at=2, settings={"tie_break": "name"})


def of_a_part(client: Client) -> Run:
    cluster = as_list(node("n1"), node("n2"), pod("a"), pod("b"), pod("c", on="n1"), pod("d", on="n2"))
    return ran(client, cluster, pods=["default/b"], unbind=["default/c"], template=json.dumps(pod("copy")), copies=2)


def configured(client: Client) -> Run:
    return small(client, config=OWN, tie_break="name", percentage=50, preemption=False, release="1.27")


def of_workloads(client: Client) -> Run:
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template},
    }
    return ran(client, as_list(node("n1"), deployment))


def held_back(client: Client) -> Run:
    """A fork after Permit gave up waiting for a gang: the pod that comes then must not find it still waiting."""
    group = "pod-group.scheduling.sigs.k8s.io"
    labels = {f"{group}/name": "g", f"{group}/min-available": "3"}
    some = [pod(f"g{i}") for i in range(3)]
    for one in some:
        one["metadata"]["labels"] = labels
    run = ran(client, as_list(node("n1"), *some[:2], pod("alone")), config=GANG)
    assert run.placed == 1
    return forked(client, run, at=run.cycles_done + 1, changes=[{"create": some[2]}])


RUNS = (
    preempting, held_back, twice, twice_later, at_the_end, in_time, in_time_forked, of_a_part, configured, of_workloads,
)  # fmt: skip


def pages_of(client: Client, run: Run) -> dict[str, Any]:
    """What is answered about a run, without its number and what it took."""
    pod = run.pod_results.order_by("position").last()
    assert pod is not None
    pods = f"pods/{pod.namespace}/{pod.name}"
    moments = {1, run.cycles_done // 2 + 1, run.cycles_done + 1}
    found: dict[str, Any] = {f"state {k}": (f"{run.url}/state", {"cycle": k}) for k in moments}
    found |= {f"map {k}": (f"{run.url}/map", {"cycle": k}) for k in moments}
    found["tape"] = (f"{run.url}/map/tape", {"after": 0})
    found["find"] = (f"{run.url}/find", {"where": 'feasible > 1 || refused_by("NodeResourcesFit")'})
    found["remedies"] = (f"{run.url}/{pods}/remedies", {})
    found["all remedies"] = (f"{run.url}/remedies", {})
    if last := next(((number, trace.pod) for number, trace, _ in reversed(list(traces(run))) if trace.scores), None):
        found["number"] = (f"{run.url}/pods/{last[1]}/provenance", {"point": "total", "cycle": last[0]})
    answers = {}
    for name, (address, query) in found.items():
        answer = client.get(address, query)
        answers[name] = json.loads(answer.content)
        assert answer.status_code == 200, answer.content
    # Which of two equal amounts or owners is meant depends on how rows were stored.
    for answer in (told for told in answers.values() if isinstance(told, dict)):
        for column, values in (("requests", "amounts"), ("owner", "owners")):
            if isinstance(pods_of := answer.get("pods"), dict) and values in pods_of:
                known = pods_of.pop(values)
                pods_of[column] = [known[i] for i in pods_of[column]]
    for address in (f"/runs/{run.pk}/{pods}/", f"/runs/{run.pk}/{pods}/why/"):
        answers[f"page {address.rpartition(pods)[2]}"] = shown(client, address)
    return answers


def shown(client: Client, address: str) -> str:
    """The words of a page, without numbers of rows and without what something took."""
    source = client.get(address).content.decode().partition("<main")[2].partition("</main>")[0]
    words = " ".join(re.sub(r"<[^>]+>", " ", source).split()).replace(" ,", ",").replace(" ;", ";")
    return re.sub(r"[Rr]un \d+|[\d.,]+ (?:cycles per second|[µm]?s)\b|(?<=took )[\w. ]+? s\b", "…", words)


def facts_of(run: Run) -> dict[str, Any]:
    """What is stored of it, but for durations and numbers."""
    names = "placed unschedulable gated errors cycles_done cycles_total last_seq node_names name summary notes".split()
    names += "changes stages origin fork_at fork_t clock state error".split()
    return {
        "settings": lifecycle.settings_of(run),
        "row": {name: getattr(run, name) for name in names},
        "cycles": decided(cycles_of(run)),
        "events": events_of(run),
        "results": [without(row) for row in run.pod_results.order_by("position", "name").values()],
        "lists": list(run.node_lists.order_by("version").values_list("version", "names")),
        "moves": moves_of(run),
        "marks": marks_of(run),
        "objects": list(run.scenario.objects_of()),
        "scenario": (run.scenario.name, run.scenario.time, run.scenario.config, run.scenario.counts),
        "stops": list(run.breakpoints.values_list("name", "where")),
    }


def lines(data: bytes) -> list[Any]:
    head, *cycles = [json.loads(line) for line in data.splitlines()]
    return [head | {"run": 0}, *cycles]


@pytest.mark.parametrize(
    ("make", "form"),
    [*((make, "run") for make in RUNS), (twice, "parquet"), (in_time, "parquet")],
    ids=lambda of: of if isinstance(of, str) else of.__name__,
)
def test_an_imported_run_is_the_one_that_was_exported(client: Client, make: Any, form: str) -> None:
    run = make(client)
    for name, where in (("ties", "tied > 1"), ("nowhere", 'result == "unschedulable"')):
        run.breakpoints.create(name=name, where=where)
    facts, pages, told = facts_of(run), pages_of(client, run), lines(exported(client, run, "jsonl"))
    data = exported(client, run, form)
    Scenario.objects.all().delete()
    assert not Run.objects.exists()
    again = imported(client, data)
    was = {"state": "done", "cycles": run.cycles_done, "version": settings.VERSION}
    assert again.imported == was | {"differs": 0}
    assert again.parent is None
    mine = facts_of(again)
    for name, value in facts.items():
        assert mine[name] == value, name
    assert lines(exported(client, again, "jsonl")) == told
    mine = pages_of(client, again)
    for name, value in pages.items():
        assert mine[name] == value, name
    assert f"As recorded: {run.cycles_done} cycle" in shown(client, f"/runs/{again.pk}/")


@pytest.mark.parametrize("make", [twice, twice_later, in_time_forked], ids=lambda make: make.__name__)
def test_an_imported_fork_is_forked_on(client: Client, make: Any) -> None:
    run = make(client)
    wanted = {"at": 2, "changes": [{"skip": {"pod": None, "plugin": "NodeResourcesFit"}}]}
    there = forked(client, run, **wanted)
    again = imported(client, exported(client, run))
    here = forked(client, again, **wanted)
    assert decided(cycles_of(here)) == decided(cycles_of(there))
    assert here.parent == again
    told = client.get("/api/compare", {"a": again.pk, "b": here.pk}).json()
    assert told["summary"] == client.get("/api/compare", {"a": run.pk, "b": there.pk}).json()["summary"]
    assert client.get(f"/compare/{again.pk}/{here.pk}/").status_code == 200
    third = imported(client, exported(client, here))
    assert decided(cycles_of(third)) == decided(cycles_of(there))


# ---- what is compared


def stored(client: Client, run: Run) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(exported(client, run))
    return document


def test_a_changed_file_is_told_from_which_cycle_on_it_differs(client: Client) -> None:
    document = stored(client, small(client))
    document["spec"]["scenario"]["spec"]["objects"][-2]["spec"]["nodeSelector"] = {"nobody": "has-this"}
    run = imported(client, json.dumps(document).encode())
    assert (run.imported["differs"], run.imported["cycles"], run.state) == (5, 6, "done")
    page = shown(client, f"/runs/{run.pk}/")
    assert "Differs from the recording from cycle 5 on; 6 cycles were recorded" in page
    assert "The same version of KubeSched recorded it" in page
    assert client.get(run.url).json()["imported"]["differs"] == 5
    document["status"]["version"] = "9.9"
    assert "Version 9.9 of KubeSched" in shown(client, f"/runs/{imported(client, json.dumps(document).encode()).pk}/")


def test_more_and_fewer_cycles_than_recorded(client: Client) -> None:
    document = stored(client, small(client))
    whole = document["spec"]["scenario"]["spec"]["objects"]
    document["spec"]["scenario"]["spec"]["objects"] = [*whole, pod("one-more")]
    assert imported(client, json.dumps(document).encode()).imported["differs"] == 7
    document["status"]["state"] = "cancelled"
    again = imported(client, json.dumps(document).encode())
    assert again.imported["differs"] == 0
    assert "The recorded one was stopped there" in shown(client, f"/runs/{again.pk}/")
    document["spec"]["scenario"]["spec"]["objects"] = whole[:-1]
    fewer = imported(client, json.dumps(document).encode())
    assert fewer.imported["differs"] == 6
    assert "after cycle 5, where this run ended; 6 cycles were recorded" in shown(client, f"/runs/{fewer.pk}/")
    failing = forked(client, small(client), at=3, changes=[CORDON])
    failing.stages[0]["changes"] = failing.changes = [{"cordon": "nowhere"}]
    failing.save()
    broken = imported(client, exported(client, failing))
    assert (broken.state, broken.error) == ("failed", "changes[0]: cordon: Node nowhere: does not exist")
    assert broken.imported["differs"] == 3


def test_a_worker_that_was_lost(client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.RUN_BATCH_CYCLES = 1
    run = twice(client)
    (number,) = sent(client, exported(client, run))["runs"]
    add, count = lifecycle.RunLog.add_cycle, iter(range(10))

    def dying(log: Any, *args: Any) -> None:
        add(log, *args)
        if next(count) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lifecycle.RunLog, "add_cycle", dying)
        with pytest.raises(KeyboardInterrupt):
            execute_run(number)
    Run.objects.filter(pk=number).update(heartbeat_at=None)
    execute_run(number)
    again = Run.objects.get(pk=number)
    assert (again.state, again.starts, again.imported["differs"]) == ("done", 2, 0)
    assert decided(cycles_of(again)) == decided(cycles_of(run))


def test_what_the_page_says_of_an_imported_fork(client: Client) -> None:
    run = imported(client, exported(client, twice(client)))
    source = client.get(f"/runs/{run.pk}/").content.decode()
    page = shown(client, f"/runs/{run.pk}/")
    assert "Until before cycle 2 it is a run that is not here; then it goes on with 2 changes." in page
    assert "Before cycle 4: 2 changes" in page
    assert "/runs/None/" not in source
    assert "/compare/" not in source.partition("A fork")[2].partition("</section>")[0]


# ---- the ways in


def test_by_page_packed_and_by_command(client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = gzip.compress(exported(client, small(client, name="the one")))
    (tmp_path / "run-7.run.json.gz").write_bytes(data)
    with (tmp_path / "run-7.run.json.gz").open("rb") as file:
        answer = client.post("/upload/", {"file": file})
    run = Run.objects.first()
    assert run
    assert (answer.status_code, answer["Location"], run.name) == (302, f"/runs/{run.pk}/", "the one")
    call_command("ingest", str(tmp_path / "run-7.run.json.gz"))
    assert f"Run {run.pk + 1}: is made again" in capsys.readouterr().out
    assert Run.objects.get(pk=run.pk + 1).imported["cycles"] == 6


def test_a_yaml_that_somebody_wrote_is_taken_too(client: Client) -> None:
    text = b"""
apiVersion: kubesched.dev/v1alpha1
kind: Run
metadata: {name: by hand}
spec:
  settings: {seed: 3, tie_break: name}
  breakpoints: [{name: ties, where: tied > 1}]
  scenario:
    apiVersion: kubesched.dev/v1alpha1
    kind: Scenario
    spec: {objects: [{apiVersion: v1, kind: Node, metadata: {name: n1}}]}
"""
    run = imported(client, text)
    assert (run.state, run.seed, run.name, run.breakpoints.count()) == ("done", 3, "by hand", 1)


# ---- what is refused


def broken(document: dict[str, Any], path: str, value: Any) -> bytes:
    """The document with something else at a place, or (for ...) without it."""
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
    ("spec/scenario/spec/objects", [], "holds no object that the scheduler looks at"),
    ("spec", 5, "spec: expected `object`, got `int`"),
    ("spec/settings", ..., "spec: object missing required field `settings`"),
    ("spec/settings", [], "spec.settings: expected `object`, got `array`"),
    ("spec/settings/seed", "7", "spec.settings.seed: expected `int`, got `str`"),
    ("spec/settings/seed", 2**63, "spec.settings.seed: must be an integer of 64 bits"),
    ("spec/settings/seed", True, "spec.settings.seed: expected `int`, got `bool`"),
    ("spec/settings/release", "9.99", "spec.settings: Kubernetes release: '9.99' is not"),
    ("spec/settings/release", "x" * 10_000, "spec.settings.release: expected `str` of length <= 40"),
    ("spec/settings/config", "kind: Nonsense", "spec.settings"),
    ("spec/settings/config", "a\0b", "spec.settings.config: holds a NUL character"),
    ("spec/settings/tie_break", "coin", "spec.settings.tie_break: must be one of seed, name"),
    ("spec/settings/percentage", 900, "spec.settings.percentage: must be between 0 and 100"),
    ("spec/settings/until", 1e9, "spec.settings.until"),
    ("spec/settings/in_time", True, "spec.settings.in_time: must be the same as in spec.began"),
    ("spec/settings/colour", "red", "spec.settings.colour: is no setting that this version of KubeSched knows"),
    ("spec/began", ..., "spec.began: is missing"),
    ("spec/began/pods", ["default/nobody"], "spec.began.pods: the scenario has no pod 'default/nobody'"),
    ("spec/began/copies", 10**12, "spec.began.template: is needed to make copies of"),
    ("spec/began/template", "kind: Secret", "spec.began: Template: kind"),
    ("spec/began/unknown_plugins", "run", "spec.began.unknown_plugins"),
    ("spec/began/absent_claims", "invent", "spec.began"),
    ("spec/fork", ..., "spec.fork: is missing; stages are of forks"),
    ("spec/fork/stage", 2, "spec.fork.stage: must be less than 2"),
    ("spec/fork/stage", -1, "spec.fork.stage: expected `int` >= 0"),
    ("spec/fork/at", 10**12, "spec.fork.at: expected `int` <= 2147483647"),
    ("spec/stages", [], "spec.fork.stage: must be less than 0"),
    ("spec/stages", [{"at": 1, "t": None, "changes": [], "settings": {}}] * 21, "spec.stages: expected `array` of"),
    (f"{STAGE}/at", None, "spec.stages[1].at: or t must be given"),
    (f"{STAGE}/at", 1, "spec.stages[1].at: is before that of an earlier stage"),
    (f"{STAGE}/t", 5.0, "spec.stages[1].at: or t must be given, one of them"),
    (f"{STAGE}/changes", [{"explode": "n1"}], "spec.stages[1]: changes[0]: Object contains unknown field `explode`"),
    (f"{STAGE}/changes", [{}], "spec.stages[1]: changes[0]: must have exactly one of"),
    (f"{STAGE}/changes", [{"create": {"kind": "Secret"}}], "does not look at objects of this kind"),
    (f"{STAGE}/changes", [{"create": {"kind": "Pod", "x": DEEP}}], "spec: is nested more than 64 levels deep"),
    (f"{STAGE}/changes", [{"cordon": "n1"}] * 1001, "spec.stages[1]: changes: must be at most 1,000, got 1,001"),
    (f"{STAGE}/settings", {"until": 10**9}, "spec.stages[1].until: is for runs in time"),
    (f"{STAGE}/settings", {"pods": []}, "spec.stages[1].settings.pods: must be one of release, config"),
    (f"{STAGE}/settings", {"seed": "x"}, "spec.stages[1].settings.seed: must be int, got 'x'"),
    ("spec/breakpoints", [{"name": "a", "where": "tied >"}], "spec.breakpoints[0]: where: line 1"),
    ("spec/breakpoints", [{"name": "a", "where": "x" * 3000}], "longer than 2,000 characters"),
    ("spec/breakpoints", [{"name": "", "where": "true"}], "spec.breakpoints[0].name: expected `str` of length >= 1"),
    ("spec/breakpoints", [{"name": "a", "where": "true"}] * 2, "spec.breakpoints[1].name: is taken by another"),
    ("spec/breakpoints", [{"name": "a", "where": "true"}] * 51, "spec.breakpoints: expected `array` of length <= 50"),
    ("spec/more", 1, "spec: object contains unknown field `more`"),
    ("metadata/name", 7, "metadata"),
    ("metadata/name", "x" * 201, "metadata.name: expected `str` of length <= 200"),
    ("metadata/name", "a\0b", "metadata.name: holds a NUL character"),
    ("status", [], "status: expected an object"),
    ("status/decisions", "###", "status.decisions: is not base64"),
    ("status/decisions", "AAAA", "status.decisions: must have 8 bytes a cycle, 6 cycles"),
    ("status/digest", "0" * 64, "status.digest: is not that of status.decisions; the file was damaged"),
    ("status/cycles", 10**15, "status.decisions: must have 8 bytes a cycle"),
    ("status/cycles", -1, "status.cycles: expected `int` >= 0"),
    ("kind", "Runner", "kind: is unknown; there are Scenario and Run"),
]


def test_what_is_refused_is_named_and_leaves_nothing(client: Client) -> None:
    data = exported(client, twice(client))
    Scenario.objects.all().delete()
    for path, value, problem in HOSTILE:
        error = sent(client, broken(json.loads(data), path, value), 400)["error"]
        assert problem in error, (path, value, error)
        assert not Scenario.objects.exists(), path
    error = sent(client, broken(json.loads(data), "status/digest", "0" * 64), 400)["error"]
    assert error.startswith("upload, document 1 (Run both): status.digest")
    page = client.post("/upload/", {"text": broken(json.loads(data), "status/cycles", -1).decode()})
    assert page.status_code == 400
    assert "status.cycles: expected" in page.content.decode()


def test_of_a_run_in_time(client: Client) -> None:
    data = exported(client, in_time_forked(client))
    for path, value, problem in (
        ("spec/settings/until", 1e9, "spec.settings.until: must be more than 0 and at most 604800 s"),
        ("spec/began/until", 0, "spec.began.until: must be more than 0"),
        ("spec/stages/1/settings", {"until": 1e9}, "spec.stages[1].until: must be more than 0 and at most"),
        ("spec/stages/1/t", -1, "spec.stages[1].t: expected `float` >= 0"),
        ("spec/scenario/spec/timeline", [{"at": "1s", "explode": "n1"}], "explode"),
    ):
        assert problem in sent(client, broken(json.loads(data), path, value), 400)["error"], path
    run = imported(client, broken(json.loads(data), "spec/stages/1/changes", [{"cordon": "nowhere"}]))
    assert (run.state, run.error) == ("failed", "changes[0]: cordon: does not exist")


def test_a_run_is_imported_alone(client: Client) -> None:
    data = exported(client, small(client))
    other = as_list(node("n9"))
    for both in (data + b"\n" + other, other + b"\n" + data, data + data):
        assert "a run file is imported alone" in sent(client, both, 400)["error"]
    files = [SimpleUploadedFile("a.json", data), SimpleUploadedFile("b.json", other)]
    assert "a run file is imported alone" in client.post("/upload/", {"file": files}).content.decode()
    told = sent(client, exported(client, small(client), "jsonl"), 400)["error"]
    assert "is a run as JSON lines, which hold no cluster; export it as a run file" in told
