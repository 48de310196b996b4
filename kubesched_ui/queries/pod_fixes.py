"""Suggested fixes of one pod: at the end of a run for its whole workload, and for an earlier attempt."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec
from django.db.models import Min

from kubesched_ui.models import Cycle, Run
from kubesched_ui.presenters.fix_diff import DiffLine, diff_of, template_of
from kubesched_ui.presenters.run_answer import ShownFix
from kubesched_ui.queries import answers, remedies
from kubesched_ui.queries.recording_cache import NotRecorded, object_at, recording_of
from scheduler_core.api.objects import Pod, decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import no_fixes
from scheduler_core.releases import get_release
from scheduler_core.suggestions import fixes
from scheduler_core.suggestions.owner import PATCHED

TEMPLATES = (*PATCHED, "Job")
LOOKED_AT = 500  # pods of a workload that are searched for the first cycle


def fixes_of(run: Run, row: Cycle) -> list[ShownFix]:
    """Return the fixes of an attempt, for its last attempt those at the end of the run. Raises NotRecorded,
    InputError."""
    if _is_earlier(run, row):
        return shown(run, row, msgspec.to_builtins(remedies.fixes_of_attempt(run, row)), row.number)
    found = answers.answer_of_pod(run, row.namespace, row.name, fixes=True)
    return shown(run, row, (found or {}).get("fixes", []))


def _is_earlier(run: Run, row: Cycle) -> bool:
    return Cycle.objects.filter(run=run, namespace=row.namespace, name=row.name, number__gt=row.number).exists()


def why_none(run: Run, row: Cycle) -> str:
    """Return why no fixes were searched for an attempt, as a sentence; "" if they were. Raises NotRecorded,
    InputError."""
    if _is_earlier(run, row):
        return fixes.why_none(remedies.explained(run, row))
    if run.active:
        return no_fixes("the run has not ended")
    found = answers.answer_of_pod(run, row.namespace, row.name, fixes=True)
    return answers.NOT_KNOWN if found is None else str(found.get("no_fixes", ""))


def shown(run: Run, row: Cycle, found: Iterable[dict[str, Any]], at: int | None = None) -> list[ShownFix]:
    """Return the fixes with their diffs. `at`: the cycle before which a fork makes the changes, by default the first
    cycle of the workload."""
    listed = [ShownFix(fix, at or 0, f"fix-{number}") for number, fix in enumerate(found)]
    if listed and at is None:
        stored = answers.row_of_pod(run, row.namespace, row.name)
        names = [key.partition("/")[2] for key in stored.pods[:LOOKED_AT]] if stored else [row.name]
        of_workload = Cycle.objects.filter(run=run, namespace=row.namespace, name__in=names)
        at = of_workload.aggregate(first=Min("number"))["first"] or row.number
    return [replace(one, at=at or row.number, diff=_diff(run, row, one.fix)) for one in listed]


def _diff(run: Run, row: Cycle, fix: dict[str, Any]) -> list[DiffLine]:
    """Return what the fix changes in its target; [] if the target is not known."""
    target, patch = fix["target"], fix["patch"]
    if target is None or not patch:
        return []
    with suppress(NotRecorded, InputError):
        moment = recording_of(run).before_cycle(row.number)
        if target["kind"] not in TEMPLATES:
            key = f"{target['namespace']}/{target['name']}".lstrip("/")
            document = object_at(run, target["kind"], key, moment)
            return diff_of(document, patch) if document else []
        raw = object_at(run, "Pod", f"{row.namespace}/{row.name}", moment)
        pod = decode(raw) if raw else None
        if raw and isinstance(pod, Pod):
            return diff_of(template_of(PodInfo(pod, get_release(run.release)), raw, target["kind"]), patch)
    return []
