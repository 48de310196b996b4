"""The virtual-time part of a Scenario document: validation and redaction."""

from collections import Counter
from typing import Any

import msgspec
import yaml

from kubesched_ui.ingest import redact as door
from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.kinds import PRIVATE, lookup
from kubesched_ui.ingest.result import Record
from scheduler_core.config.document import line_of
from scheduler_core.controllers.pod_template import KINDS, makes_pods
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release
from scheduler_core.snapshot.defaults import is_typed
from scheduler_core.virtual_time.scenario import API_VERSION, KIND, load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

# Members of a Scenario's spec that a snapshot also has, and those of the scheduler. All others are about virtual time.
ABOUT = ("description", "kubernetes", "config", "objects")
SCHEDULER = ("seed", "tieBreak", "preemption", "percentage")
MAX_BYTES = 32 * 1024 * 1024
MAX_LOCATED = 1024 * 1024  # maximum size of a file that is parsed again to find the line of an error


def check(spec: dict[str, Any]) -> None:
    """Check the virtual-time part of a document, including templates and future objects. Raises InputError."""
    plain = {"apiVersion": API_VERSION, "kind": KIND, "spec": spec}
    try:
        scenario = load_scenario(msgspec.json.encode(plain))
        # A run may configure later how to treat unknown plugins, and sets the release of the feature gates.
        ScenarioRun(scenario, unknown_plugins="leave_out", release=get_release(scenario.spec.release))
    except InputError as error:
        path = error.field.partition(": ")[2] if error.field.startswith("line ") else error.field
        where = "" if error.where == "scenario" else f"{error.where}: "
        raise InputError("", path, f"{where}{error.problem}") from None


def redact(spec: dict[str, Any], dropped: Counter[str], unknown: Counter[str]) -> None:
    """Remove in place confidential data from future objects, and entries about kinds that are not stored. `spec`:
    already checked by `check`."""
    if "timeline" in spec:
        spec["timeline"] = [entry for entry in spec["timeline"] if _kept(entry, dropped, unknown)]
    for arrivals in spec.get("arrivals", ()):
        door.redact(arrivals["template"], dropped)


def _kept(entry: dict[str, Any], dropped: Counter[str], unknown: Counter[str]) -> bool:
    operation = next((name for name in ("create", "update", "patch", "delete") if entry.get(name) is not None), None)
    if operation is None:
        return True
    obj = entry[operation]
    kind, version = str(obj.get("kind", "")), str(obj.get("apiVersion", ""))
    if lookup(kind, version) is None:
        if kind in PRIVATE:
            dropped[kind] += 1
        else:
            unknown[kind[:60]] += 1
        return False
    door.redact(obj["patch"] if operation == "patch" else obj, dropped)
    return True


def line(text: bytes, where: Where, path: str) -> str:
    """Return `line 12: ` for the position of `path` in a file with one document; otherwise ""."""
    if where.document > 1 or where.item or len(text) > MAX_LOCATED:
        return ""
    try:
        return f"line {line_of(text, path)}: "
    except (yaml.YAMLError, RecursionError, UnicodeError):
        return ""


def creates_pods(record: Record) -> bool:
    """Return whether an object is a hand-written workload whose pods must be created."""
    return record.kind in KINDS and makes_pods(obj := record.object()) and is_typed(obj)
