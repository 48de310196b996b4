"""Context of the run page: the answer, pending reasons and pod table."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from django.core.paginator import Paginator

from kubesched_ui.housekeeping import retention
from kubesched_ui.models import NO_NODE, NOMINATED, PodResult, Run
from kubesched_ui.presenters import cycle_rows, queue_timeline, run_answer
from kubesched_ui.presenters.node_names import shortened
from kubesched_ui.queries import answers, distributions, recording_cache
from kubesched_ui.queries.recording_cache import NotRecorded
from kubesched_ui.runs import fork_create, queue, scoring
from kubesched_ui.runs.services import own_release
from kubesched_ui.views import pod_group_context
from kubesched_ui.views.form_fields import to_second
from kubesched_ui.work.turns import user_key
from scheduler_core.api import duration
from scheduler_core.forks import actions
from scheduler_core.plugins.contrib.capacity_scheduling import CapacityScheduling
from scheduler_core.releases.conformance import verification
from scheduler_core.releases.remarks import cluster_remarks
from scheduler_core.snapshot.defaults import FILLED

SORTS = ("position", "name", "result", "node", "score", "margin", "feasible", "attempts", "duration")
OUTCOMES = {  # outcome of a pod -> label, style of its dot
    "scheduled": ("placed", "ok"),
    NOMINATED: ("nominated", "live"),
    NO_NODE: ("no node", "bad"),
    "gated": ("gated", "held"),
    "error": ("error", "odd"),
    "waiting": ("in Permit", ""),
}
MAX_NODE_LABEL = 60  # characters
PODS_SHOWN = 100  # pods per page of the table
CHANGES_SHOWN = 50  # of a fork


def context(run: Run, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the context of run.html."""
    sort = query.get("sort", "")
    sort = sort if sort.removeprefix("-") in SORTS else "position"
    values = {key: query.get(key, "") for key in ("q", "result")}
    rows = run.pod_results.matching(values["q"], values["result"] or None).order_by(sort, "position")
    answer = run_answer.answer_of(run)
    counts = outcome_counts(answer.counts)
    shown = Paginator(rows.defer("reasons"), PODS_SHOWN).get_page(query.get("page"))
    remarks = cluster_remarks(run.scenario.kubernetes, run.release) if own_release(run.scenario) else []
    page: dict[str, Any] = {
        "run": run,
        "page": shown,
        "waited": waited(run, shown.object_list) if run.in_time else {},
        **node_labels(shown.object_list),
        "same_message": repeated(shown.object_list),
        "sort": sort,
        "table_open": bool(query.get("sort") or query.get("page")),
        "counts": counts,
        "outcomes": [(one["result"], outcome_text(run, one)) for one in counts],
        "scheduler": scheduler_of(run),
        "configuration": configuration_of(run),
        "charts": distributions.offered(run),
        "progress": progress(run),
        "answer": answer,
        "waits": waits(run),
        # defaults that were filled in, and the patch release that is simulated, are no warnings
        "warnings": [(text, tone_of(text, remarks)) for text in cycle_rows.warnings_of(run)],
        "left": cycle_rows.left_of(run),
        "kept": recording_cache.has_recording(run),
        "has_quotas": not run.active and CapacityScheduling.name in run.config and recording_cache.has_recording(run),
        "ends": retention.deletion_time(run),
        "fork_changes": indented(run.changes),
        "fork_titles": [actions.title_of([change]) for change in run.changes[:CHANGES_SHOWN]],
        "scoring": scoring.offered(run.release),
        "second": to_second(query.get("t", "")) if run.in_time else None,
        "other_stages": [(stage, indented(stage["changes"])) for stage in fork_create.other_stages(run)],
    }
    return page | values | pod_group_context.listed(run, query.get("groups"))


def outcome_text(run: Run, outcome: Mapping[str, Any]) -> str:
    """Return `placed (12)`. While the run is active, the counts of its page are those of the timepoint of the map."""
    label: str = outcome["label"]
    return label if run.active else f"{label} ({outcome['count']:,})"


def node_labels(rows: Iterable[PodResult]) -> dict[str, Any]:
    """Return the short names of the nodes of these pods (`node_labels`), and the common end that they lack
    (`node_suffix`)."""
    names = sorted({name for row in rows if (name := row.node or row.nominated_node)})
    labels, suffix = shortened(names, MAX_NODE_LABEL)
    return {"node_labels": dict(zip(names, labels, strict=True)), "node_suffix": suffix}


def waited(run: Run, rows: Iterable[PodResult]) -> dict[int, str]:
    """Return for each of these pods how long it waited until it was bound; "" if it is not bound."""
    times = queue_timeline.waited(run)
    found = ((row.pk, times.get(f"{row.namespace}/{row.name}")) for row in rows)
    return {pk: "" if time is None else duration.span(time) for pk, time in found}


def repeated(rows: Iterable[PodResult]) -> dict[int, str]:
    """Return for each pod whose message is that of an earlier one of these pods the key of that pod."""
    first: dict[str, str] = {}
    found = {}
    for row in rows:
        key = f"{row.namespace}/{row.name}"
        if row.message and first.setdefault(row.message, key) != key:
            found[row.pk] = first[row.message]
    return found


def indented(changes: Any) -> str:
    """Return indented JSON."""
    return msgspec.json.format(msgspec.json.encode(changes)).decode()


def scheduler_of(run: Run) -> str:
    """Describe the scheduler of a run: its release, what recorded cases verify of it, and the cluster's own version if
    known, as in `scheduler 1.34 (verified as 1.34.1), the version of the cluster`.
    """
    verified, theirs = verification(run.release_number, run.in_time), run.scenario.kubernetes
    text = f"scheduler {run.release.replace(',', ', ')} ({verified})"
    if own_release(run.scenario) == run.release_number:
        return f"{text}, the version of the cluster"
    return f"{text}; the cluster runs {theirs}" if theirs else text


def configuration_of(run: Run) -> str:
    """Describe the configuration of a run."""
    if not run.config:
        return "the default configuration"
    return "the configuration of the cluster" if run.config == run.scenario.config else "a configuration of its own"


def outcome_counts(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the number of pods per outcome, for the totals and the filter above the table."""
    rows = OUTCOMES.items()
    return [{"result": name, "label": label, "dot": dot, "count": counts.get(name, 0)} for name, (label, dot) in rows]


def tone_of(text: str, remarks: Collection[str]) -> str:
    """Return how a note about a run is shown: "warn", "remark" about the cluster's patch release, or "" as a note."""
    return "" if text.startswith(FILLED) else "remark" if text in remarks else "warn"


def progress(run: Run) -> dict[str, Any]:
    """Return the data of the progress bar: `done` of `most`, in virtual time `clock` of `until`; and `left`, the
    remaining or total duration.
    """
    seconds = run.eta_s if run.active else took(run)
    left = "" if seconds is None else f"about {duration.span(round(seconds))}" if run.active else duration.span(seconds)
    if not run.in_time:
        return {"done": run.cycles_done, "most": run.cycles_total or 1, "left": left}
    until = run.until or 0.0
    reached = duration.clock(run.clock)
    return {
        "done": run.clock,
        "most": until or 1,
        "clock": f"at {reached}" if run.active or run.clock < until else reached,
        "until": duration.clock(until) if run.active or run.clock < until else "",
        "left": left,
    }


def waits(run: Run) -> str:
    """Return what a queued run waits for, `Waits behind 2 runs, about 40 s.`, and what to do if a limit makes it
    wait."""
    at = queue.queue_position(run)
    if at is None or not at.behind:
        return ""
    text = queue.wait_text(at, user_key(run))
    found = f"{text[0].upper()}{text[1:]}{' (lower priority)' if run.low else ''}."
    if at.limit:
        found += " To start it sooner, cancel one of those, or raise the limit with KUBESCHED_RUN_LONG_PER_PERSON."
    return found


def together(run: Run) -> dict[str, Any]:
    """Return the answers about all pending pods with fixes. Raises NotRecorded, InputError."""
    if run.active:
        raise NotRecorded("The run has not finished. Try again when it has finished.")
    answers.answers_of_run(run, fixes=True)
    return {"answer": run_answer.answer_of(run), "kept": recording_cache.has_recording(run)}


def took(run: Run) -> float | None:
    """Return the duration in seconds, or None before the end."""
    return (run.finished_at - run.started_at).total_seconds() if run.started_at and run.finished_at else None
