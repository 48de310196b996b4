"""Export a run as a file that reproduces it when uploaded.

The file holds the scenario, the settings, the changes of forks, the breakpoints and, for each cycle, the fingerprint of
the decision. `runs/import_run.py` imports it. The format is in docs/formats.md, section Run.
"""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any

import msgspec
from django.conf import settings

from kubesched_ui.event_log.fingerprints import Fingerprints, traces
from kubesched_ui.ingest.formats import OUR_API, RUN_KIND, scenario_document
from kubesched_ui.models import Run
from kubesched_ui.runs import fork_create
from kubesched_ui.runs.services import settings_of
from scheduler_core.recording.fingerprint import SIZE

OBJECTS_AT_ONCE = 1000

encode = msgspec.json.encode


def document(run: Run, fingerprints: bytes | None = None) -> Iterator[bytes]:
    """Yield the file's bytes in pieces, with one line per object of the scenario. `fingerprints`: of all cycles, if
    known."""
    head = {"apiVersion": OUR_API, "kind": RUN_KIND, "metadata": {"name": run.name}}
    yield _open(encode(head)) + b',\n"spec":' + _open(encode(spec(run))) + b',\n"scenario":'
    yield from scenario(run)
    if fingerprints is None:
        prints = Fingerprints()
        fingerprints = b"".join(prints.fingerprint(trace, nodes) for _, trace, nodes in traces(run))
    yield b'},\n"status":' + encode(status(run, fingerprints)) + b"}\n"


def spec(run: Run) -> dict[str, Any]:
    """Return the inputs of a run except its scenario."""
    found: dict[str, Any] = {
        "settings": asdict(settings_of(run)),
        "breakpoints": [{"name": stop.name, "where": stop.where} for stop in run.breakpoints.all()],
    }
    if run.is_fork:
        found |= {"began": run.origin, "stages": run.stages}
        found["fork"] = {"at": run.fork_at, "stage": fork_create.own_stage(run)}
    return found


def scenario(run: Run) -> Iterator[bytes]:
    """Yield the scenario as an embedded document."""
    of = run.scenario
    empty = scenario_document(of.name, [], of.description, of.kubernetes, of.config, of.time)
    empty["spec"].pop("objects")
    inner = encode(empty.pop("spec"))
    yield _open(encode(empty)) + b',"spec":' + _open(inner) + (b"," if len(inner) > 2 else b"") + b'"objects":['
    objects, before = of.objects_of(), b"\n"
    while some := [encode(obj) for obj in islice(objects, OBJECTS_AT_ONCE)]:
        yield before + b",\n".join(some)
        before = b",\n"
    yield b"]}}"


def status(run: Run, fingerprints: bytes) -> dict[str, Any]:
    """Return the results, for comparison after an import."""
    return {
        "version": settings.VERSION,
        "state": run.state,
        "cycles": len(fingerprints) // SIZE,
        "digest": hashlib.sha256(fingerprints).hexdigest(),
        "decisions": base64.b64encode(fingerprints).decode(),
    }


def _open(text: bytes) -> bytes:
    """Return a JSON object without its closing brace."""
    return text[:-1]
