"""Store small runs of the current format in the test data, so that every later version is tested with them.

    python scripts/store_recording.py [NAME]

Writes a database, the API responses about its runs, and a backup, named after the version or NAME;
tests/kubesched_ui/event_log/stored/README.md says when to run it.
"""

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

SAMPLES = ROOT / "kubesched_ui" / "scenarios" / "samples"
BACKUPS = ROOT / "tests" / "kubesched_ui" / "backup" / "stored"
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
    """Post to the API and execute the run that it creates."""
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
    """Return a run of each sample, and a fork."""
    from kubesched_ui.ingest import ingest_files
    from kubesched_ui.ingest.store import store

    made = {}
    for sample, wanted in RUNS.items():
        text = (SAMPLES / f"{sample}.yaml").read_bytes()
        scenario = store(ingest_files([(f"{sample}.yaml", text)]), name=sample)
        made[sample] = record(f"/api/scenarios/{scenario.pk}/runs", wanted)
    fork = record(f"{made['10-preemption'].url}/fork", {"at": 2, "changes": [{"cordon": "n1"}]})
    return [*made.values(), fork]


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    var = tempfile.mkdtemp(prefix="kubesched-store-")
    os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "KUBESCHED_VAR_DIR": var}
    import django

    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from kubesched_ui.runs import tasks
    from kubesched_ui.work import leases
    from tests.kubesched_ui.event_log.format_digest import shape
    from tests.kubesched_ui.event_log.stored_recordings import STORED, answers
    from tests.scheduler_core.cycle.test_trace import full_trace
    from tests.scheduler_core.cycle.test_trace_batch import encoded_together

    logging.disable(logging.CRITICAL)
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    leases.app.send_task = lambda *args, **options: None
    assert tasks  # the first import of Celery's tasks reads its settings
    call_command("migrate", verbosity=0)
    User.objects.create_user("ann", "ann@example.org", "a password").groups.add(Group.objects.create(name="class"))
    client = Client(headers={"host": "localhost"})
    found = {
        "shape": shape(full_trace().encode(), *encoded_together()),
        "runs": {run.pk: answers(client, run) for run in runs()},
    }
    call_command("backup", str(BACKUPS / f"{name or settings.VERSION}.backup"))
    connection.close()
    whole = Path(var) / "whole.sqlite3"
    database = sqlite3.connect(Path(var) / "kubesched.sqlite3")
    database.execute("VACUUM INTO ?", [str(whole)])  # threads that made exports may still have it open
    database.close()
    for suffix, data in {".json.gz": json.dumps(found).encode(), ".sqlite3.gz": whole.read_bytes()}.items():
        path = STORED / ((name or settings.VERSION) + suffix)
        path.write_bytes(gzip.compress(data, 9, mtime=0))
        print(path, f"{path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
