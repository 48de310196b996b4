"""Configuration of a run: page, API and command select the same one."""

import html
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from kubesched_ui.models import Run, Scenario
from kubesched_ui.presenters.cycle_rows import warnings_of
from scheduler_core.releases import NEWEST
from tests.kubesched_ui.clusters import node, pod

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("run_immediately")]

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
# Only pods of "mine" have a profile, which shows whether this configuration is used.
GOOD = HEAD | {"profiles": [{"schedulerName": "mine"}]}
UNKNOWN = HEAD | {
    "profiles": [{"schedulerName": "mine", "plugins": {"filter": {"enabled": [{"name": "Dynamic"}, {"name": "Odd"}]}}}]
}
WRONG = HEAD | {"profiles": [{"schedulerName": "mine", "plugins": {"filter": {"enable": []}}}]}
OTHER = json.dumps(HEAD | {"profiles": [{"schedulerName": "default-scheduler"}]})


def snapshot(config: dict[str, Any] | None) -> bytes:
    held = {"kind": "ConfigMap", "metadata": {"name": "s"}, "data": {"config.yaml": json.dumps(config)}}
    objects = [node("n1"), pod("a", schedulerName="mine"), pod("b")]
    return json.dumps([*objects, *([held] if config else [])]).encode()


def uploaded(client: Client, config: dict[str, Any] | None) -> int:
    answer = client.post("/api/scenarios", snapshot(config), content_type="application/json")
    assert answer.status_code == 201, answer.content
    return answer.json()["id"]


def start(client: Client, came_along: dict[str, Any] | None, **settings: Any) -> Any:
    pk = uploaded(client, came_along)
    return client.post(f"/api/scenarios/{pk}/runs", json.dumps(settings), content_type="application/json")


def placed(run: Run) -> list[str]:
    return [result.name for result in run.pod_results.filter(result="scheduled")]


def test_the_api_uses_the_uploaded_configuration(client: Client) -> None:
    answer = start(client, GOOD)
    assert answer.json()["notes"] == []
    assert placed(Run.objects.get()) == ["a"]


@pytest.mark.parametrize(
    ("came_along", "given", "says"),
    [
        (GOOD, "", "the run uses the default configuration of its release"),
        (GOOD, OTHER, "the run has its own configuration"),
        (WRONG, "", "unknown field enable"),
        (WRONG, OTHER, "the run has its own configuration"),
    ],
)
def test_the_api_names_a_replaced_configuration(
    client: Client, came_along: dict[str, Any], given: str, says: str
) -> None:
    answer = start(client, came_along, config=given)
    (note,) = answer.json()["notes"]
    assert note.startswith("The scheduler configuration of the upload is not used: ")
    assert says in note
    run = Run.objects.get()
    assert placed(run) == ["b"]
    assert note in warnings_of(run)


@pytest.mark.parametrize(
    ("config", "says"),
    [(UNKNOWN, f"2 plugins are not part of kube-scheduler {NEWEST}"), (WRONG, "unknown field enable")],
)
def test_an_invalid_configuration_is_left_out_with_a_warning(client: Client, config: dict[str, Any], says: str) -> None:
    answer = start(client, config)
    assert answer.status_code == 202
    (note,) = answer.json()["notes"]
    assert says in note
    assert placed(Run.objects.get()) == ["b"]


@pytest.mark.parametrize("in_time", [False, True])
def test_unknown_plugins_of_the_uploaded_configuration_can_be_left_out(client: Client, in_time: bool) -> None:
    answer = start(client, UNKNOWN, unknown_plugins="leave_out", in_time=in_time)
    assert answer.json()["notes"] == []
    run = Run.objects.get()
    assert (run.state, placed(run)) == ("done", ["a"])
    assert [w for w in warnings_of(run) if "'Dynamic' is not part of" in w and "left out of filter" in w]


def test_the_api_names_unknown_plugins_and_the_setting_to_leave_them_out(client: Client) -> None:
    answer = start(client, None, config=json.dumps(UNKNOWN))
    assert answer.status_code == 400
    content = answer.json()
    assert [plugin["name"] for plugin in content["unknown_plugins"]] == ["Dynamic", "Odd"]
    assert content["unknown_plugins"][0]["what"].startswith("Crane: ")
    assert content["error"].endswith('; "unknown_plugins": "leave_out" starts the run without them')
    assert start(client, None, config=json.dumps(UNKNOWN), unknown_plugins="leave_out").status_code == 202
    assert start(client, None, unknown_plugins="perhaps").status_code == 422


def form(config: str, **more: str) -> dict[str, str]:
    return {"which": "pending", "mode": "once", "release": "1.34", "config": config, "preemption": "on", **more}


def test_the_page_offers_to_leave_out_unknown_plugins(client: Client) -> None:
    address = f"/scenarios/{uploaded(client, UNKNOWN)}/"
    config = Scenario.objects.get().config
    assert html.escape(config[:30]) in client.get(address).content.decode()
    answer = client.post(f"{address}run/", form(config.replace("\n", "\r\n")))
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "These 2 plugins are not part of kube-scheduler 1.34." in page
    assert "Crane: filters and scores by load" in page
    assert '<button name="unknown_plugins" value="leave_out">' in page
    answer = client.post(f"{address}run/", form(config, unknown_plugins="leave_out"))
    assert answer.status_code == 302
    run = Run.objects.get()
    assert (placed(run), run.notes) == (["a"], [])


def test_the_page_offers_to_start_without_an_invalid_configuration(client: Client) -> None:
    address = f"/scenarios/{uploaded(client, WRONG)}/run/"
    page = client.post(address, form(Scenario.objects.get().config)).content.decode()
    assert "unknown field enable" in page
    assert 'name="without_config"' in page
    assert client.post(address, form(Scenario.objects.get().config, without_config="on")).status_code == 302
    assert "of the upload is not used" in Run.objects.get().notes[0]


def simulate(tmp_path: Path, config: dict[str, Any] | None, *arguments: str) -> None:
    (tmp_path / "c.json").write_bytes(snapshot(config))
    (tmp_path / "unknown.json").write_text(json.dumps(UNKNOWN))
    call_command("simulate", str(tmp_path / "c.json"), *(word.replace("DIR", str(tmp_path)) for word in arguments))


@pytest.mark.parametrize(
    ("config", "arguments", "scheduled", "says"),
    [
        (GOOD, [], "default/a", ""),
        (GOOD, ["--default-config"], "default/b", "is not used: the run uses the default configuration"),
        (UNKNOWN, [], "default/b", "2 plugins are not part of"),
        (UNKNOWN, ["--leave-out-unknown"], "default/a", "left out of filter"),
        (None, ["--config", "DIR/unknown.json", "--leave-out-unknown"], "default/a", "left out of filter"),
    ],
)
def test_simulate(
    tmp_path: Path, config: Any, arguments: list[str], scheduled: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(tmp_path, config, *arguments)
    printed = capsys.readouterr()
    assert f"{scheduled}  scheduled" in printed.out
    assert says in printed.err
    assert ("left out" in printed.err or "is not used" in printed.err) == bool(says)


def test_simulate_names_the_option_to_leave_them_out(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="; --leave-out-unknown ignores them") as refused:
        simulate(tmp_path, None, "--config", "DIR/unknown.json")
    assert refused.value.returncode == 2


POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", "weight": 2}]}


def test_an_unsupported_policy_is_shown_as_a_configuration(client: Client) -> None:
    address = f"/scenarios/{uploaded(client, None)}/run/"
    answer = client.post(address, form(json.dumps(POLICY), release=NEWEST))
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "a scheduler Policy is read by kube-scheduler 1.22 and older only" in page
    assert "scoringStrategy: {type: MostAllocated}" in page
    assert '<button name="translated" value="on">' in page
    assert client.post(address, form(json.dumps(POLICY), release=NEWEST, translated="on")).status_code == 302
    assert "MostAllocated" in Run.objects.get().config
    assert client.post(address, form(json.dumps(POLICY), release="1.20")).status_code == 302, "it reads it"


def test_the_api_and_the_command_show_it(client: Client, tmp_path: Path) -> None:
    answer = start(client, None, config=json.dumps(POLICY), release=NEWEST)
    assert answer.status_code == 400
    written = answer.json()["instead"]
    assert written.startswith("apiVersion: kubescheduler.config.k8s.io/v1\n")
    assert start(client, None, config=written, release=NEWEST).status_code == 202
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    (tmp_path / "cluster.json").write_bytes(snapshot(None))
    with pytest.raises(CommandError, match="The equivalent configuration:\n\napiVersion"):
        call_command("simulate", str(tmp_path / "cluster.json"), config=str(tmp_path / "policy.json"), release=NEWEST)
