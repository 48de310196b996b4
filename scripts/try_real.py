"""Run real clusters and configurations with the page, the API and `manage.py simulate`, and compare the results.

python scripts/try_real.py CLUSTERS CONFIGS > table.md

CLUSTERS and CONFIGS are folders (or single files). A cluster is run with up to eight of its bound pods rescheduled; a
configuration with a small cluster, unchanged and, if plugins are missing, without them. Everything runs in this
process, in a temporary database. Exit code 1: some results differ.
"""

import html
import io
import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PLACED_AGAIN = 8
NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{i}", "labels": {"topology.kubernetes.io/zone": f"z{i % 2}"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }
    for i in range(4)
]
PODS = [
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{i}", "namespace": "default", "uid": f"u{i}", "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": f"{i}00m"}}}]},
    }
    for i in range(1, 6)
]
CLUSTER = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*NODES, *PODS]}).encode()


@dataclass
class Answer:
    """Result of one interface: an `error`, or remarks and outcomes."""

    error: str = ""
    warnings: list[str] = field(default_factory=list)
    outcomes: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # pod -> result, node, message


@dataclass
class Case:
    """`files`: name, content. `unbind`: pods to reschedule. `config`: configuration of the run, None for the uploaded
    one.
    """

    files: list[tuple[str, bytes]]
    unbind: list[str] = field(default_factory=list)
    config: str | None = None
    leave_out: bool = False


def main() -> int:
    clusters, configs = (sorted(p.iterdir()) if p.is_dir() else [p] for p in map(Path, sys.argv[1:3]))
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings", "KUBESCHED_VAR_DIR": folder}
        os.environ.pop("KUBESCHED_DATABASE_URL", None)
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command
        from django.test.utils import setup_test_environment

        setup_test_environment()
        logging.disable(logging.WARNING)
        settings.INGEST_ISOLATED = False
        call_command("migrate", verbosity=0)
        differ = 0
        print("| cluster | answer | three ways | remarks |\n| --- | --- | --- | --- |")
        for path in clusters:
            differ += row(path.name, cluster_case(path))
        print("\n| configuration | answer | three ways | remarks |\n| --- | --- | --- | --- |")
        for path in configs:
            text = path.read_text(errors="replace")
            differ += row(path.name, Case([("cluster.json", CLUSTER)], config=text))
            differ += row("… left out", Case([("cluster.json", CLUSTER)], config=text, leave_out=True), only_if_unknown)
            both = [("cluster.json", CLUSTER), (path.name, path.read_bytes())]
            differ += row("… in the upload", Case(both, leave_out=True))
    print(f"\n{differ} answers differ.")
    return 1 if differ else 0


def only_if_unknown(answers: list[Answer]) -> bool:
    return any("left out" in warning for answer in answers for warning in answer.warnings)


def row(name: str, case: Case, wanted: Callable[[list[Answer]], bool] = bool, ways: Any = None) -> int:
    """Print the line of a case. Return 1 if the interfaces differ."""
    answers = [way(case) for way in ways or WAYS]
    if not wanted(answers):
        return 0
    first = answers[-1]
    if first.error:
        what = f"refused: {first.error}"
    else:
        placed = sum(result == "scheduled" for result, _, _ in first.outcomes.values())
        what = f"accepted, {placed} of {len(first.outcomes)} placed"
    same = all(answer == first for answer in answers)
    differences = "agree" if same else f"DIFFER: {'; '.join(unlike(answers))}"
    print(f"| {cell(name)} | {cell(what)} | {cell(differences)} | {cell('; '.join(first.warnings))} |", flush=True)
    return not same


def unlike(answers: list[Answer]) -> Iterator[str]:
    for part in ("error", "warnings", "outcomes"):
        values = [getattr(answer, part) for answer in answers]
        if any(value != values[0] for value in values):
            yield f"{part}: {' / '.join(str(value)[:200] for value in values)}"


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())[:400]


def cluster_case(path: Path) -> Case:
    from kubesched_ui.ingest import IngestError, ingest_files

    data = path.read_bytes()
    try:
        result = ingest_files([(path.name, data)])
    except IngestError:
        return Case([(path.name, data)])
    pods = (obj for obj in result.objects if obj["kind"] == "Pod")
    bound = [
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in pods
        if pod["spec"].get("nodeName") and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
    ]
    return Case([(path.name, data)], bound[:PLACED_AGAIN])


# ---------------------------------------------------------------- the three interfaces


def by_page(case: Case) -> Answer:
    """Return the result of the pages: upload form, scenario page, start form."""
    from django.test import Client
    from django.urls import resolve, reverse

    from kubesched_ui.models import Run

    client = Client(SERVER_NAME="localhost")
    response = client.post("/upload/", {"file": uploads(case)})
    if response.status_code != 302:
        return Answer(refusal(response.context))
    found = resolve(response["Location"])  # the default run, or the scenario if nothing is pending
    scenario_id = found.kwargs.get("scenario_id") or Run.objects.get(pk=found.kwargs["run_id"]).scenario_id
    page = client.get(reverse("scenario", args=[scenario_id]))
    shown = html.unescape(" ".join(page.content.decode().split()))
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
    started = client.post(f"/scenarios/{scenario_id}/run/", form)
    if started.status_code != 302 and case.config is None:  # the page then has a button to start without it
        started = client.post(f"/scenarios/{scenario_id}/run/", form | {"without_config": "on"})
    if started.status_code != 302:
        return Answer(refusal(started.context))
    answer = finished(int(started["Location"].rstrip("/").rpartition("/")[2]))
    messages = [remark["message"] for remark in remarks(scenario_id)]
    missing = [message for message in messages[:60] if " ".join(message.split()) not in shown]
    answer.warnings += [f"NOT ON THE PAGE: {message}" for message in missing]
    return answer


def by_api(case: Case) -> Answer:
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    response = client.post("/api/scenarios", {"file": uploads(case)})
    if response.status_code != 201:
        return Answer(response.json()["error"])
    body: dict[str, Any] = {"unknown_plugins": "leave_out" if case.leave_out else "error"}
    if case.unbind:
        body |= {"pods": case.unbind}
    if case.config is not None:
        body["config"] = case.config
    address = f"/api/scenarios/{response.json()['id']}/runs"
    started = client.post(address, body, content_type="application/json")
    if started.status_code != 202:
        return Answer(without_hint(started.json()["error"]))
    return finished(started.json()["id"])


def by_command(case: Case) -> Answer:
    from django.core.management import call_command
    from django.core.management.base import CommandError

    from kubesched_ui.models import Run

    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, data in case.files:
            paths.append(Path(folder) / name)
            paths[-1].write_bytes(data)
        options: dict[str, Any] = {"keep": True, "stderr": io.StringIO(), "leave_out_unknown": case.leave_out}
        if case.unbind:
            options["pods"] = case.unbind
        if case.config is not None:
            given = Path(folder) / "given-configuration"
            given.write_text(case.config)
            options["config"] = str(given)
        try:
            with redirect_stdout(io.StringIO()):
                call_command("simulate", *map(str, paths), **options)
        except CommandError as error:
            return Answer(without_hint(str(error)))
        except SystemExit:
            pass  # a pod stays pending
    return finished(Run.objects.latest("pk").pk)


WAYS = (by_page, by_api, by_command)


def uploads(case: Case) -> list[Any]:
    from django.core.files.uploadedfile import SimpleUploadedFile

    return [SimpleUploadedFile(name, data) for name, data in case.files]


def refusal(context: Any) -> str:
    """Return the error of a page that was shown again."""
    form = context.get("form")
    if form is None:
        return str(context["error"])
    if form.unknown:
        from scheduler_core.config import UnknownPlugins

        return str(UnknownPlugins(form.data["release"], form.unknown, None))
    return "; ".join(str(error) for errors in form.errors.values() for error in errors) or "no reason is shown"


def without_hint(error: str) -> str:
    """Remove the hint how to leave plugins out, which depends on the interface."""
    return re.split(r"; --leave-out-unknown|; \"unknown_plugins\"|\nIts equivalent for this release:", error)[0]


def remarks(scenario_id: int) -> list[dict[str, Any]]:
    from kubesched_ui.models import Scenario

    return Scenario.objects.get(pk=scenario_id).warnings


def finished(run_id: int) -> Answer:
    """Return the run, finished by this process, with the remarks about its files and itself."""
    from kubesched_ui.models import Run
    from kubesched_ui.presenters.cycle_rows import warnings_of
    from kubesched_ui.runs.tasks import execute_run

    execute_run(run_id)
    run = Run.objects.get(pk=run_id)
    if run.state == Run.State.FAILED:
        return Answer(run.error)
    messages = [remark["message"] for remark in remarks(run.scenario_id)]
    outcomes = {f"{r.namespace}/{r.name}": (r.result, r.node, r.message) for r in run.pod_results.all()}
    return Answer("", [*messages, *warnings_of(run)], outcomes)


if __name__ == "__main__":
    sys.exit(main())
