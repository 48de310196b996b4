"""Upgrade previews: worker, API and page."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run, Scenario, Upgrade
from kubesched_ui.runs.services import RunSettings, create_run, defaults
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios.samples import FOLDER
from kubesched_ui.upgrades import presenters
from kubesched_ui.upgrades import services as upgrade_services
from kubesched_ui.upgrades import tasks as module
from kubesched_ui.upgrades.tasks import explain_upgrade
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES
from tests.kubesched_ui.recordings import node, pod, scenario
from tests.scheduler_core.releases.test_patch_releases import VICTIMS

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

UNPLACED = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available."}
SIDECAR = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}


@pytest.fixture
def cluster() -> Scenario:
    """chatty has a sidecar, which 1.27 does not count. big fits nowhere, with other messages in newer releases."""
    return scenario(
        node("n1", cpu="4"),
        pod("chatty", cpu="2", initContainers=[SIDECAR]),
        pod("big", cpu="64"),
        pod("small", cpu="100m"),
    )


def work(upgrade: Upgrade) -> Upgrade:
    """Do the work of the workers."""
    for run in upgrade.runs.filter(state="queued"):
        execute_run(run.pk)
        upgrade_services.run_is_over(run.pk)
    explain_upgrade(upgrade.pk)
    upgrade.refresh_from_db()
    return upgrade


def start(client: Client, cluster: Scenario, status: int = 202, **body: Any) -> Any:
    body = {"every": False, **body}
    answer = client.post(f"/api/scenarios/{cluster.pk}/upgrades", body, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.mark.parametrize(("body", "every"), [({}, True), ({"every": True}, True), ({"every": False}, False)])
def test_all_pods_are_scheduled_again_by_default(
    client: Client, cluster: Scenario, body: dict[str, Any], every: bool
) -> None:
    """As the page proposes it."""
    wanted = {"releases": ["1.27", "1.34"], **body}
    answer = client.post(f"/api/scenarios/{cluster.pk}/upgrades", wanted, content_type="application/json")
    assert answer.status_code == 202
    assert Upgrade.objects.get().every is every


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content[:2000]
    return re.sub(r"\s+", " ", answer.content.decode())


def test_a_preview_over_the_api(client: Client, cluster: Scenario, sent: list[Any]) -> None:
    made = start(client, cluster, releases=["1.34.2", "v1.27"])
    assert list(made["runs"]) == ["1.27", "1.34.2"]
    upgrade = Upgrade.objects.get(pk=made["id"])
    assert {run.tie_break for run in upgrade.runs.all()} == {"name"}
    upgrade_services.send_if_ready(upgrade.pk)
    assert upgrade_services.EXPLAIN not in [name for name, *_ in sent], "its runs are not over yet"
    before = client.get(made["url"]).json()
    assert (before["state"], before["known"], before["steps"]) == ("queued", 0, [])
    work(upgrade)
    assert sent[-1] == (upgrade_services.EXPLAIN, upgrade.pk)
    found = client.get(made["url"]).json()
    assert (found["state"], found["error"], found["known"]) == ("done", "", 1)
    assert found["done"] == found["steps"][0]["runs"]
    assert [(run["release"], run["state"]) for run in found["runs"]] == [("1.27", "done"), ("1.34.2", "done")]
    (step,) = found["steps"]
    assert (
        step["sentence"]
        == "1 pod loses its node; 2 of 3 pods have the same outcome. 1 message differs only in wording."
    )
    changed = {one["pod"]: one for one in step["changed"]}
    lost = changed["default/chatty"]
    assert (lost["change"], lost["a"]["node"], lost["b"]["result"]) == ("lost", "n1", "unschedulable")
    (unit,) = [step["units"][i] for i in lost["cause"]]
    assert (unit["path"], unit["since"], unit["pods"]) == ("sidecar_containers", "1.28", 1)
    assert lost["minimal"]
    assert changed["default/big"]["change"] == "words"
    assert client.get(f"{made['url']}?steps=false").json()["steps"] is None
    assert [one["id"] for one in client.get(f"/api/scenarios/{cluster.pk}/upgrades").json()] == [upgrade.pk]
    assert client.delete(made["url"]).status_code == 204
    assert client.get(made["url"]).status_code == 404
    assert cluster.runs.count() == 2


@pytest.mark.long
def test_the_result_agrees_with_the_runs(client: Client, cluster: Scenario) -> None:
    upgrade = work(upgrade_services.create_upgrade(cluster, list(RELEASES)))
    assert upgrade.state == "done", upgrade.error
    assert [(step["a"], step["b"]) for step in upgrade.steps] == list(zip(RELEASES, list(RELEASES)[1:], strict=False))
    runs = upgrade.run_of()
    for step in upgrade.steps:
        for one in step["changed"]:
            for side in ("a", "b"):
                namespace, name = one["pod"].split("/")
                kept = runs[step[side]].pod_results.get(namespace=namespace, name=name)
                assert (kept.result, kept.node, kept.message) == tuple(
                    one[side][key] for key in ("result", "node", "message")
                )


def test_existing_runs_with_the_same_settings_are_used(cluster: Scenario) -> None:
    one = work(upgrade_services.create_upgrade(cluster, ["1.27", "1.34"]))
    other = upgrade_services.create_upgrade(cluster, ["1.34", "1.33", "1.27"])
    assert other.releases == ["1.27", "1.33", "1.34"]
    assert cluster.runs.count() == 3
    assert set(one.runs.all()) < set(other.runs.all())


def test_the_chosen_scoring_applies_to_all_releases(client: Client, cluster: Scenario) -> None:
    form = {"release": ["1.21", "1.34"], "strategy": "MostAllocated"}
    assert client.post(f"/scenarios/{cluster.pk}/upgrade/", form).status_code == 302
    assert all("MostAllocated" in run.summary for run in Upgrade.objects.get().runs.all())
    answer = client.post(f"/scenarios/{cluster.pk}/upgrade/", form | {"strategy": "x"}, follow=True)
    assert "The preview was not started. Run: strategy: must be one of LeastAllocated" in answer.content.decode()


def test_all_pods_are_rescheduled(cluster: Scenario) -> None:
    static = pod("etcd", nodeName="n1", status={"phase": "Running"})
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "5e8f"}
    other = scenario(node("n1"), pod("runs", nodeName="n1", status={"phase": "Running"}), pod("waits"), static)
    upgrade = work(upgrade_services.create_upgrade(other, ["1.27", "1.34"], every=True))
    assert upgrade.steps[0]["pods"] == 2
    assert work(upgrade_services.create_upgrade(other, ["1.27", "1.34"])).steps[0]["pods"] == 1


@pytest.mark.parametrize(
    ("body", "words", "status"),
    [
        ({"releases": ["1.34", "1.34.1"]}, "must list at least two of the releases", 400),
        ({"releases": ["1.34", "0.9"]}, "'0.9' is not available", 400),
        ({"releases": ["1.34 SchedulerPopFromBackoffQ=false", "1.27"]}, "must be without feature gates", 400),
        ({"releases": ["1.34"]}, "releases", 422),
        ({"releases": ["1.27", "1.34"], "x": 1}, "x", 422),
    ],
)
def test_invalid_requests_are_rejected(client: Client, cluster: Scenario, body: Any, words: str, status: int) -> None:
    assert words in start(client, cluster, status, **body)["error"]
    assert not Upgrade.objects.exists()
    assert not Run.objects.exists()


def test_cancelled_before_its_runs_finish(client: Client, cluster: Scenario) -> None:
    upgrade, other = (upgrade_services.create_upgrade(cluster, names) for names in (["1.27", "1.34"], ["1.33", "1.34"]))
    answer = client.post(f"/api/upgrades/{upgrade.pk}/cancel")
    assert answer.json()["state"] == "cancelled"
    assert upgrade.run_of()["1.27"].state == "cancelled"
    assert upgrade.run_of()["1.34"].state == "queued", "another preview waits for it"
    explain_upgrade(upgrade.pk)
    upgrade.refresh_from_db()
    assert upgrade.state == "cancelled"
    assert work(other).state == "done"


def test_cancelled_during_the_search_for_causes(cluster: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade = upgrade_services.create_upgrade(cluster, ["1.27", "1.34", "1.36"])
    for run in upgrade.runs.all():
        execute_run(run.pk)
    monkeypatch.setattr(module, "PROGRESS_EVERY_S", -1)
    presented = Upgrade.write

    def write(one: Upgrade, **values: Any) -> None:
        presented(one, **values)
        if "steps" in values:
            upgrade_services.cancel(Upgrade.objects.get(pk=one.pk))

    monkeypatch.setattr(Upgrade, "write", write)
    explain_upgrade(upgrade.pk)
    upgrade.refresh_from_db()
    assert (upgrade.state, len(upgrade.steps)) == ("cancelled", 1), "what is known stays"
    assert 0 < upgrade.done < upgrade.planned


def test_a_failed_run_fails_the_preview(cluster: Scenario) -> None:
    upgrade = upgrade_services.create_upgrade(cluster, ["1.27", "1.34"])
    Run.objects.filter(release="1.34").update(state="failed", error="no more memory")
    assert "with release 1.34, is failed: no more memory" in work(upgrade).error
    gone = upgrade_services.create_upgrade(cluster, ["1.27", "1.33"])
    Run.objects.filter(release="1.33").delete()
    assert "with release 1.33 was deleted" in work(gone).error


def test_a_preview_of_a_lost_worker_is_resumed(
    cluster: Scenario, sent: list[Any], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    upgrade = upgrade_services.create_upgrade(cluster, ["1.27", "1.34", "1.36"])
    for run in upgrade.runs.all():
        execute_run(run.pk)
    upgrade_services.sweep()
    assert (upgrade_services.EXPLAIN, upgrade.pk) in sent, "a message that was lost is sent again"
    work(upgrade)
    first = upgrade.steps[:1]
    Upgrade.objects.filter(pk=upgrade.pk).update(state="running", steps=first, worker="gone", heartbeat_at=None)
    sent.clear()
    upgrade_services.sweep()
    assert sent == [(upgrade_services.EXPLAIN, upgrade.pk)]
    played: list[str] = []
    real = module.step
    monkeypatch.setattr(
        module, "step", lambda a, b, *args, **more: played.append(b.release.name) or real(a, b, *args, **more)
    )
    assert work(upgrade).state == "done"
    assert (len(upgrade.steps), played) == (2, ["1.36"]), "what is known is not looked for again"
    Upgrade.objects.filter(pk=upgrade.pk).update(state="running", starts=settings.RUN_MAX_STARTS, heartbeat_at=None)
    upgrade_services.sweep()
    upgrade.refresh_from_db()
    assert upgrade.state == "failed"


def test_the_page(client: Client, cluster: Scenario) -> None:
    form = page(client, f"/scenarios/{cluster.pk}/")
    assert form.count('name="release" value=') == len(RELEASES)
    answer = client.post(f"/scenarios/{cluster.pk}/upgrade/", {"release": ["1.27", "1.34"], "which": "pending"})
    upgrade = Upgrade.objects.get()
    assert answer["Location"] == f"/upgrades/{upgrade.pk}/"
    assert "Finding causes" in page(client, f"/upgrades/{upgrade.pk}/")
    work(upgrade)
    text = page(client, f"/upgrades/{upgrade.pk}/")
    assert "1 pod loses its node; 2 of 3 pods have the same outcome." in text
    assert "An upgrade of kube-scheduler moves no running pod." in text
    assert "The change is direct" in text
    assert [row.pod for row in presenters.rows(upgrade, show=presenters.DIRECT)] == ["default/chatty"]
    assert "Changed in 1.28" in text
    assert "<dt>1.27</dt> <dd>a sidecar is treated as an init container" in text
    assert 'href="https://github.com/kubernetes/enhancements/issues/753"' in text
    assert "Messages that differ only in wording" in text
    assert "From 1.27 to 1.34, 1 of 3 pods gets another decision." in text
    units = upgrade.steps[0]["units"]
    touch = sum(bool(unit["pods"] or unit["words"]) for unit in units)
    assert f"{len(units)} changes checked, {touch} touch the pending pods, {len(units) - touch} do not" in text
    assert "these changes, 3 pods have the same outcome and message." in text
    assert all(f"{unit['path']}</" in text for unit in units), "each change is listed"
    runs = upgrade.run_of()
    assert f"/compare/{runs['1.27'].pk}/{runs['1.34'].pk}/?pod=default%2Fchatty#pod" in text
    assert f"/upgrades/{upgrade.pk}/" in page(client, f"/scenarios/{cluster.pk}/")
    assert "default/big" not in text[text.index('id="pods"') :]
    words = page(client, f"/upgrades/{upgrade.pk}/?show=words")
    assert "default/big" in words[words.index('id="pods"') :]
    assert "No pod matches" in page(client, f"/upgrades/{upgrade.pk}/?q=nobody")
    client.post(f"/upgrades/{upgrade.pk}/delete/")
    assert client.get(f"/upgrades/{upgrade.pk}/").status_code == 404


def test_a_preview_without_differences_names_what_was_checked(client: Client) -> None:
    cluster = scenario(node("n1"), pod("runs", nodeName="n1", status={"phase": "Running"}), name="<b>small</b>")
    assert 'name="which" value="every" checked' in page(client, f"/scenarios/{cluster.pk}/")
    client.post(f"/scenarios/{cluster.pk}/upgrade/", {"release": ["1.33", "1.34"], "which": "every"})
    upgrade = work(Upgrade.objects.get())
    text = page(client, f"/upgrades/{upgrade.pk}/")
    assert '<h1 class="wrap">Upgrade preview of &lt;b&gt;small&lt;/b&gt;</h1>' in text
    assert "From 1.33 to 1.34, the only pod gets the same decision." in text
    units = upgrade.steps[0]["units"]
    assert f"<summary>{len(units)} changes checked, none touches this cluster</summary>" in text
    assert all(unit["path"] in text for unit in units)
    nothing = work(upgrade_services.create_upgrade(cluster, ["1.33", "1.34"]))
    text = page(client, f"/upgrades/{nothing.pk}/")
    assert "No pod was scheduled, so the preview says nothing." in text
    assert "No pod was scheduled, so no change was checked." in text


def test_expected_duration(cluster: Scenario) -> None:
    """A small cluster takes less than two runs, a cluster of slow pods many runs."""
    seconds = float(presenters.expected_per_release(cluster)["pending"].removesuffix(" s"))
    assert 0 < seconds < 1
    cluster.counts = {"Node": 340, "Pod": 1885}
    assert float(presenters.expected_per_release(cluster)["every"].removesuffix(" s")) > 10


def test_the_nearest_release_is_selected_and_mentioned(client: Client) -> None:
    old = scenario(node("n1"), pod("p", status={"conditions": [UNPLACED]}))
    Scenario.objects.filter(pk=old.pk).update(kubernetes="v1.14.3")
    old.refresh_from_db()
    chosen = [choice.name for choice in presenters.choices(old) if choice.chosen]
    assert chosen == [next(iter(RELEASES)), list(RELEASES)[-1]]
    text = page(client, f"/scenarios/{old.pk}/")
    assert "The cluster runs Kubernetes v1.14.3. The nearest release here is 1.16, the oldest one." in text
    run = create_run(old, RunSettings(**defaults(old)), send=False)
    execute_run(run.pk)
    assert any("v1.14.3" in note for note in run.notes)
    assert "The nearest release here is 1.16" in page(client, f"/runs/{run.pk}/pods/default/p/")


def test_a_preview_says_what_is_verified_and_which_patch_release_differs(client: Client) -> None:
    cluster = scenario(node("n1"), pod("p", status={"conditions": [UNPLACED]}))
    Scenario.objects.filter(pk=cluster.pk).update(kubernetes="v1.26.0")
    cluster.refresh_from_db()
    remark = "The cluster runs Kubernetes v1.26.0; 1.26 is simulated as 1.26.4. They differ: in 1.26.4, an in-tree disk"
    chooser = page(client, f"/scenarios/{cluster.pk}/")
    assert "The cluster runs" not in chooser[chooser.index('id="upgrade"') :], "its own release is preselected"
    assert ">1.36 (verified as 1.36.2; virtual time by sources)</option>" in chooser
    assert ">1.34 (verified as 1.34.1)</option>" in chooser
    assert create_run(cluster, RunSettings(**defaults(cluster)), send=False).release == "1.26.0"
    run = create_run(cluster, RunSettings(release="1.26"), send=False)
    execute_run(run.pk)
    shown = page(client, f"/runs/{run.pk}/")
    assert f'<p class="tiny muted wrap">{remark}' in shown, "a line of small text, no warning"
    upgrade = Upgrade.objects.create(scenario=cluster, releases=["1.26", "1.36"])
    text = page(client, f"/upgrades/{upgrade.pk}/")
    assert remark in text
    assert "verified as 1.36.2" in text
    upgrade.releases = ["1.27", "1.36"]
    assert presenters.remarks(upgrade) == []
    cluster.time = {"until": 60}
    states = {choice.name: choice.state for choice in presenters.choices(cluster)}
    assert (states["1.34"], states["1.36"]) == ("verified", "by sources")


def test_the_page_without_runs_and_with_one_release(client: Client, cluster: Scenario) -> None:
    assert client.get("/upgrades/7/").status_code == 404
    answer = client.post(f"/scenarios/{cluster.pk}/upgrade/", {"release": ["1.27"]}, follow=True)
    assert "must list at least two of the releases" in answer.content.decode()


def test_a_pod_across_the_releases(cluster: Scenario) -> None:
    """Its outcome stays the same until a step changes it."""

    def outcome(node: str) -> dict[str, Any]:
        result = "scheduled" if node else "unschedulable"
        return {"result": result, "node": node, "nominated": "", "victims": [], "message": ""}

    def step(a: str, b: str, *changes: tuple[str, str, str]) -> dict[str, Any]:
        changed = [
            {"pod": "default/p", "change": kind, "a": outcome(x), "b": outcome(y), "cause": [0], "minimal": True}
            for kind, x, y in changes
        ]
        return {"a": a, "b": b, "changed": changed}

    upgrade = Upgrade(releases=["1", "2", "3", "4"], scenario=cluster)
    upgrade.steps = [step("1", "2"), step("2", "3", ("moved", "n1", "n2")), step("3", "4", ("lost", "n2", ""))]
    (row,) = presenters.rows(upgrade)
    assert row.cells == [("n1", "", ""), ("n1", "", ""), ("n2", "moved", "1.0"), ("no node", "lost", "2.0")]
    assert presenters.rows(upgrade, cause="1.0") == presenters.rows(upgrade, q="N2") == [row]
    assert presenters.rows(upgrade, cause="0.0") == presenters.rows(upgrade, show="words") == []


def test_the_release_chooser(cluster: Scenario) -> None:
    names = list(RELEASES)

    def chosen(kubernetes: str) -> list[str]:
        cluster.kubernetes = kubernetes
        return [one.name for one in presenters.choices(cluster) if one.chosen]

    assert chosen("") == names[-2:]
    assert chosen("v1.27.3-eks-a5565ad") == ["1.27.3", names[-1]]
    assert chosen("v1.27.1") == ["1.27", names[-1]], "the patch release of its cases"
    assert chosen(f"v{RELEASES[names[-1]].version}+k3s1") == names[-2:]
    assert [one.name for one in presenters.choices(cluster) if one.own] == [names[-1]]


def test_a_preview_between_patch_releases(client: Client) -> None:
    """What does 1.31.8 change against 1.31.2 for these pods? Which victim violates its budget."""
    cluster = scenario(*copy.deepcopy(VICTIMS))
    Scenario.objects.filter(pk=cluster.pk).update(kubernetes="v1.31.2")
    form = page(client, f"/scenarios/{cluster.pk}/")
    assert 'value="1.31.2" checked' in form
    assert '<option value="1.31.8">1.31.8</option>' in form
    client.post(f"/scenarios/{cluster.pk}/upgrade/", {"release": ["1.31.2"], "patches": "1.31.8,", "which": "pending"})
    upgrade = work(Upgrade.objects.get())
    assert upgrade.releases == ["1.31.2", "1.31.8"]
    (step,) = upgrade.steps
    (changed,) = [one for one in step["changed"] if one["pod"] == "default/boss"]
    assert (changed["a"]["nominated"], changed["b"]["nominated"]) == ("w1", "w2")
    (unit,) = [step["units"][i] for i in changed["cause"]]
    assert (unit["path"], unit["since"]) == ("victims_by_importance", "1.31.3")
    assert "Changed in 1.31.3" in page(client, f"/upgrades/{upgrade.pk}/")
    wrong = {"release": ["1.31.2"], "patches": "1.31.x", "which": "pending"}
    answer = client.post(f"/scenarios/{cluster.pk}/upgrade/", wrong, follow=True)
    assert "&#x27;1.31.x&#x27; is not available" in answer.content.decode()


def test_every_patch_version_belongs_to_its_release() -> None:
    versions = {name: release.patch_version for name, release in RELEASES.items() if release.patch_version}
    assert versions
    assert all(version.startswith(f"{name}.") for name, version in versions.items())
    with pytest.raises(InputError):
        upgrade_services.create_upgrade(Scenario(), ["1.34"])


def test_virtual_time_with_the_gates_of_the_scenario(client: Client) -> None:
    """They apply in the releases that have them."""
    text = (Path(__file__).parents[2] / "browser" / "story.yaml").read_text()
    text = text.replace("  until: 5m", "  until: 5m\n  featureGates: {SchedulerPopFromBackoffQ: false}")
    made = client.post("/api/scenarios", text, content_type="application/yaml").json()
    upgrade = work(upgrade_services.create_upgrade(Scenario.objects.get(pk=made["id"]), ["1.27", "1.34"]))
    assert upgrade.state == "done", upgrade.error
    assert [run.feature_gates for run in upgrade.run_of().values()] == [{}, {"SchedulerPopFromBackoffQ": False}]
    assert all(run.in_time for run in upgrade.runs.all())
    assert (upgrade.steps[0]["a"], upgrade.steps[0]["b"]) == ("1.27", "1.34")


@pytest.mark.long
def test_changes_of_pod_groups_have_a_cause(client: Client) -> None:
    data = (FOLDER / "20-pod-group.yaml").read_bytes()
    number = client.post("/api/scenarios", data, content_type="application/octet-stream").json()["id"]
    wanted: Any = {"releases": ["1.35", "1.36"]}
    assert client.post(f"/api/scenarios/{number}/upgrades", wanted, content_type="application/json").status_code == 202
    upgrade = work(Upgrade.objects.get())
    assert upgrade.state == "done"
    releases = {run.release_number: run.feature_gates for run in upgrade.runs.all()}
    assert releases["1.35"] == {}
    assert releases["1.36"]["GangScheduling"]
    page = " ".join(client.get(f"/upgrades/{upgrade.pk}/").content.decode().split())
    assert "3 pods are placed and 3 lose their node" in page
    assert "<dd>the pods of a PodGroup are scheduled in one cycle of their group (GenericWorkload)</dd>" in page
    for pods in (["train-0", "train-1", "train-2"], ["pair-0", "pair-1", "web-0"]):
        assert all(f"team/{pod}" in page for pod in pods)
