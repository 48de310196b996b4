"""The pages, the API and `manage.py simulate` accept the same files and configurations, with the same results."""

import html
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import resolve

from kubesched_ui.ingest import IngestError, ingest_files
from kubesched_ui.models import Run, Scenario
from kubesched_ui.presenters.cycle_rows import warnings_of
from kubesched_ui.runs.tasks import execute_run
from scheduler_core.config import UnknownPlugins
from tests.clusters import CLUSTERS, DATA, cluster_id
from tests.examples import sample
from tests.kubesched_ui.clusters import as_list, node, pod

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

PLACED_AGAIN = 8  # bound pods of a cluster
CONFIGS = sorted((DATA / "configs").iterdir())
SMALL = ("cluster.json", as_list(*(node(f"n{i}") for i in range(4)), *(pod(f"p{i}") for i in range(5))))


class Case(NamedTuple):
    """Files by name. `unbind`: pods to place again. `config`: of the run; None for that of the files."""

    files: list[tuple[str, bytes]]
    unbind: list[str] = []
    config: str | None = None
    leave_out: bool = False


class Result(NamedTuple):
    """An error, or remarks and the outcomes of pods: result, node and message."""

    error: str = ""
    remarks: list[str] = []
    outcomes: dict[str, tuple[str, str, str]] = {}


@pytest.mark.parametrize("path", sample(CLUSTERS, 8), ids=cluster_id)
def test_a_cluster(client: Client, tmp_path: Path, path: Path) -> None:
    files = [(path.name, path.read_bytes())]
    found = _same(client, tmp_path, Case(files, _bound(files)))
    assert found.error or found.outcomes


@pytest.mark.parametrize("path", sample(CONFIGS, 16), ids=lambda path: path.name.partition("-at-")[0][-40:])
def test_a_configuration(client: Client, tmp_path: Path, path: Path) -> None:
    text = path.read_text(errors="replace")
    for leave_out in (False, True):
        _same(client, tmp_path, Case([SMALL], config=text, leave_out=leave_out))
    _same(client, tmp_path, Case([SMALL, (path.name, path.read_bytes())], leave_out=True))


def _bound(files: list[tuple[str, bytes]]) -> list[str]:
    """Return pods that are on nodes and have not ended."""
    try:
        pods = [obj for obj in ingest_files(files).objects if obj["kind"] == "Pod" and obj["spec"].get("nodeName")]
    except IngestError:
        return []
    running = (one["metadata"] for one in pods if one.get("status", {}).get("phase") not in ("Succeeded", "Failed"))
    return [f"{metadata['namespace']}/{metadata['name']}" for metadata in running][:PLACED_AGAIN]


def _same(client: Client, folder: Path, case: Case) -> Result:
    result = _by_api(client, case)
    assert _by_command(folder, case) == result
    assert _by_page(client, case) == result
    return result


def _by_page(client: Client, case: Case) -> Result:
    uploaded = client.post("/upload/", {"file": _uploads(case)})
    if uploaded.status_code != 302:
        return Result(_refusal(uploaded.context))
    found = resolve(uploaded["Location"])  # the default run, or the scenario if nothing is pending
    number = found.kwargs.get("scenario_id") or Run.objects.get(pk=found.kwargs["run_id"]).scenario_id
    page = client.get(f"/scenarios/{number}/")
    offered = page.context["form"].initial
    form = {
        "which": "unbind" if case.unbind else "pending",
        "unbind": "\n".join(case.unbind),
        "mode": "once",
        "release": offered["release"],
        "preemption": "on",
        "config": offered["config"] if case.config is None else case.config,
        "unknown_plugins": "leave_out" if case.leave_out else "error",
    }
    started = client.post(f"/scenarios/{number}/run/", form)
    if started.status_code != 302 and case.config is None:  # the page then has a button to start without it
        started = client.post(f"/scenarios/{number}/run/", form | {"without_config": "on"})
    if started.status_code != 302:
        return Result(_refusal(started.context))
    shown = html.unescape(" ".join(page.content.decode().split()))
    for remark in Scenario.objects.get(pk=number).warnings[:60]:
        assert " ".join(remark["message"].split()) in shown
    return _finished(int(started["Location"].rstrip("/").rpartition("/")[2]))


def _by_api(client: Client, case: Case) -> Result:
    uploaded = client.post("/api/scenarios", {"file": _uploads(case)})
    if uploaded.status_code != 201:
        return Result(uploaded.json()["error"])
    body: dict[str, Any] = {"unknown_plugins": "leave_out" if case.leave_out else "error"}
    body |= {"pods": [], "unbind": case.unbind} if case.unbind else {}
    body |= {"config": case.config} if case.config is not None else {}
    address = f"/api/scenarios/{uploaded.json()['id']}/runs"
    started = client.post(address, body, content_type="application/json")
    return _finished(started.json()["id"]) if started.status_code == 202 else Result(_error(started.json()["error"]))


def _by_command(folder: Path, case: Case) -> Result:
    options: dict[str, Any] = {"keep": True, "stderr": io.StringIO(), "leave_out_unknown": case.leave_out}
    options |= {"pods": [], "unbind": case.unbind} if case.unbind else {}
    if case.config is not None:
        options["config"] = str(_written(folder, "given-configuration", case.config.encode()))
    try:
        with suppress(SystemExit):  # a pod stays pending
            call_command("simulate", *(str(_written(folder, *file)) for file in case.files), **options)
    except CommandError as error:
        return Result(_error(str(error)))
    return _finished(Run.objects.latest("pk").pk)


def _written(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def _uploads(case: Case) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(name, data) for name, data in case.files]


def _refusal(context: Any) -> str:
    """Return the error of a page that was shown again."""
    if (form := context.get("form")) is None:
        return str(context["error"])
    if form.unknown:
        return str(UnknownPlugins(form.data["release"], form.unknown, None))
    return "; ".join(str(error) for errors in form.errors.values() for error in errors)


def _error(text: str) -> str:
    """Return an error without the hint how to leave plugins out, which depends on the interface."""
    return re.split(r"; --leave-out-unknown|; \"unknown_plugins\"|\nIts equivalent for this release:", text)[0]


def _finished(number: int) -> Result:
    """Return the results of a run, finished in this process, with the remarks about its files and itself."""
    execute_run(number)
    run = Run.objects.get(pk=number)
    if run.state == Run.State.FAILED:
        return Result(run.error)
    return Result(
        "",
        list(_remarks(run)),
        {f"{r.namespace}/{r.name}": (r.result, r.node, r.message) for r in run.pod_results.all()},
    )


def _remarks(run: Run) -> Iterator[str]:
    yield from (remark["message"] for remark in run.scenario.warnings)
    yield from warnings_of(run)
