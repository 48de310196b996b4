"""Explanations of numbers in stored runs, on the cluster before the cycle. The last few clusters are cached."""

import threading
from functools import lru_cache
from typing import Any

from django.http import Http404

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.models import Cycle, Run
from kubesched_ui.queries.comparisons import fetcher
from kubesched_ui.queries.recording_cache import key_of, recording_of
from kubesched_ui.queries.remedies import maker
from scheduler_core.provenance.tree import Tree
from scheduler_core.releases import get_release
from scheduler_core.search.claims import Claims
from scheduler_core.search.preemption_dry_run import PreemptionDryRuns
from scheduler_core.search.provenance import Provenance, Question, provenance_of

KEPT = 2  # cached clusters; one of 5,000 nodes and 10,000 pods takes about 100 MB

_lock = threading.Lock()  # also guards the clusters: plugins keep state


def explain_number(run: Run, cycle: Cycle, question: Question) -> Tree:
    """Return the explanation tree of a number of one cycle. Raises NotRecorded, InputError, NotDecided."""
    with _lock:
        return _provenance(run, cycle, key_of(run)).explain(question)


def repeated(
    what: type[PreemptionDryRuns | Claims], run: Run, cycle: Cycle, node: str = "", page: int = 1
) -> dict[str, Any]:
    """Return the preemption dry runs of one cycle (those on one node are repeated), or the claims of its pod and the
    devices of a node, as in docs/debugger.md. Raises NotRecorded, InputError, NotDecided."""
    with _lock:
        found = _provenance(run, cycle, key_of(run))
        return {"cycle": cycle.number} | what(found.framework, found.pod, found.trace).as_dict(node, page)


def cycle_of(run: Run, namespace: str, name: str, attempt: int | None, number: int | None = None) -> Cycle:
    """Return the cycle of a pod's attempt or with this number; by default the pod's last one. Raises Http404."""
    known = Cycle.objects.filter(run=run, namespace=namespace, name=name).order_by("-number")
    criteria = {"attempt": attempt, "number": number}
    found = known.filter(**{field: value for field, value in criteria.items() if value is not None}).first()
    if found is None:
        problem = f"attempt: there is no attempt {attempt}" if attempt is not None else "There is no cycle"
        problem = f"cycle: there is no cycle {number}" if number is not None else problem
        raise Http404(f"{problem} of pod {namespace[:253]}/{name[:253]} in run {run.pk}.")
    return found


@lru_cache(maxsize=KEPT)
def _provenance(run: Run, cycle: Cycle, key: str) -> Provenance:
    restored = recording_of(run), fetcher(run), maker(run), get_release(run.release)
    return provenance_of(*restored, cycle.number, trace_of(cycle))
