"""Keeps a recording of the present format among the tests' data, so that every later version is held to reading it.

    python scripts/keep_recording.py NAME [FOLDER]

Run it whenever tests/kubesched_ui/event_log/test_kept.py says that the format has another shape, and commit the two
files it writes: a database with small runs (in one pass, in time, with volumes, devices, a group, a fork), and what the
API tells of them. NAME sorts after those that are there, as 12-what-is-new.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

KEPT = ROOT / "tests" / "kubesched_ui" / "recording" / "kept"
SAMPLES = ROOT / "kubesched_ui" / "scenarios" / "samples"
RUNS: dict[str, dict[str, Any]] = {
    "04-zone-spread": {},
    "07-volume-zone": {"release": "1.34"},
    "10-preemption": {},
    "16-preemption-in-time": {"in_time": True},
    "17-taint-eviction": {"in_time": True},
    "19-devices": {"release": "1.34"},
    "20-pod-group": {},
    "21-predicates": {"release": "1.16"},
    "24-preemption-then": {"release": "1.24"},
}


def record(address: str, wanted: dict[str, Any]) -> Any:
    """Posts to the API and plays the run that comes of it."""
    from django.test import Client

    from kubesched_ui.models import Run
    from kubesched_ui.runs.tasks import execute_run

    answer = Client(headers={"host": "localhost"}).post(address, wanted, content_type="application/json")
    assert answer.status_code == 202, answer.content
    execute_run(answer.json()["id"])
    run = Run.objects.get(pk=answer.json()["id"])
    assert run.state == "done", run.error
    return run


def runs() -> list[Any]:
    from kubesched_ui.ingest import ingest_files
    from kubesched_ui.ingest.store import store

    made = {}
    for sample, wanted in RUNS.items():
        text = (SAMPLES / f"{sample}.yaml").read_bytes()
        scenario = store(ingest_files([(f"{sample}.yaml", text)]), name=sample)
        made[sample] = record(f"/api/scenarios/{scenario.pk}/runs", wanted)
    fork = record(f"{made['10-preemption'].url}/fork", {"at": 2, "changes": [{"cordon": "n1"}]})
    return [*made.values(), fork]


def told(run: Any) -> dict[str, Any]:
    """As tests/kubesched_ui/event_log/stored_runs.py has it."""
    from django.test import Client

    from tests.kubesched_ui.task_headers import exported

    client, cycles = Client(headers={"host": "localhost"}), {}
    for result in run.pod_results.all():
        pod = f"{result.namespace}/{result.name}"
        cycles[pod] = client.get(f"{run.url}/pods/{pod}").json()["cycles"]
    found = {"scenario": run.scenario.name, "last_seq": run.last_seq, "cycles": cycles}
    return found if run.is_fork else found | {"file": exported(client, run).decode()}


def main(name: str, folder: Path) -> None:
    var = tempfile.mkdtemp(prefix="kubesched-keep-")
    os.environ |= {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings", "VAR_DIR": var}
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    from kubesched_ui.runs import services, tasks
    from tests.kubesched_ui.event_log.shape import shape
    from tests.scheduler_core.cycle.test_trace import full_trace

    logging.disable(logging.CRITICAL)
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    services.app.send_task = lambda *args, **options: None
    assert tasks  # the first import of Celery's tasks reads its settings
    call_command("migrate", verbosity=0)
    said = {"shape": shape(full_trace().encode()), "runs": {run.pk: told(run) for run in runs()}}
    connection.close()
    whole = Path(var) / "whole.sqlite3"
    database = sqlite3.connect(Path(var) / "kubesched.sqlite3")
    database.execute("VACUUM INTO ?", [str(whole)])  # threads that made exports may have it open yet
    database.close()
    files = {".json.gz": json.dumps(said).encode(), ".sqlite3.gz": whole.read_bytes()}
    for suffix, data in files.items():
        path = folder / (name + suffix)
        path.write_bytes(gzip.compress(data, 9, mtime=0))
        print(path, f"{path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else KEPT)
