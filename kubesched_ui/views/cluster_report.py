"""The report card of the real scheduler: how many of its decisions are explained, over time, and its configuration."""

from typing import Any

from kubesched_ui.clusters import queries
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.presenters.charts import Figure, axes_figure, bar_trace
from kubesched_ui.views import cluster_context
from scheduler_core.cluster.formatting import agree, count
from scheduler_core.shadow import judgement

BINDINGS, MESSAGES = "bindings", "messages"
CHARTS = {BINDINGS: "Bindings per hour by outcome", MESSAGES: "Messages per hour by outcome"}
SHORT_LAG_S = 10
# Outcome -> colour and pattern of its bars; unexplained ones stand out.
LOOKS: dict[str, tuple[str, str]] = {
    "same": ("#2f8f96", ""),
    "tie": ("#4f9fd0", "/"),
    "earlier": ("#6b7fd7", "\\"),
    "assumed": ("#9a6bb8", "x"),
    "sampled": ("#7a9a3a", "-"),
    "nominated": ("#3f9f6d", "|"),
    "batched": ("#808b93", "+"),
    "other-configuration": ("#d98a29", "."),
    "unknown-plugin": ("#b5703a", "/"),
    "not-scheduled": ("#a9b1b6", ""),
    "gap": ("#c8cdd0", "x"),
    "unexplained": ("#b3261e", ""),
    "equal": ("#2f8f96", ""),
    "differs": ("#b3261e", ""),
}


def context(cluster: Cluster) -> dict[str, Any]:
    """Return the context of the report card."""
    card = queries.report_card(cluster)
    candidates = sorted(card.configuration.items(), key=lambda one: -one[1])
    return {
        "card": card,
        "sentence": sentence(card),
        "message_sentence": message_sentence(card),
        "rows": [
            (cluster_context.outcome_badge(name), number, share(number, card.decisions))
            for name, number in card.outcomes.items()
        ],
        "message_rows": [
            (cluster_context.outcome_badge(name), number, share(number, card.message_count))
            for name, number in card.messages.items()
        ],
        "outcomes": badges(),
        "candidates": [(name, 100 * likelihood) for name, likelihood in candidates],
        "configuration": configuration_sentence(candidates if card.decisions else []),
        "changes": [(one.at, change_sentence(one)) for one in reversed(card.changes)],
        "lag": lag_sentence(card),
        "unexplained": list(queries.decisions(cluster, outcome=judgement.UNEXPLAINED)[:20]),
        "differing": list(queries.decisions(cluster, message_outcome=judgement.DIFFERS)[:20]),
        "charts": [
            (key, label) for key, label in CHARTS.items() if (card.decisions if key == BINDINGS else card.message_count)
        ],
    }


def decision_filters(cluster: Cluster) -> dict[str, Any]:
    """Return the result as a sentence, the filters of the list of decisions, and the badges of its rows."""
    card = queries.report_card(cluster)
    return {
        "sentence": sentence(card),
        "outcomes": badges(),
        "outcome_options": list(card.outcomes.items()),
        "message_options": list(card.messages.items()),
    }


def badges() -> dict[str, cluster_context.Badge]:
    """Return the badge of each outcome."""
    return {name: cluster_context.outcome_badge(name) for name in cluster_context.OUTCOMES}


def share(number: int, total: int) -> float:
    """Return a share in percent."""
    return 100 * number / total if total else 0.0


def sentence(card: queries.ReportCard) -> str:
    """Return the result in one sentence."""
    if not card.decisions:
        return "No decision of the real scheduler has been checked yet."
    lost = card.outcomes.get(judgement.GAP, 0)
    missed = f"{count(lost, 'decision')} in gaps of the history could not be checked." if lost else ""
    if not (judged := card.decisions - lost):
        return missed
    rest = card.decisions - card.explained
    checked = f"{count(judged, 'decision')} of the real scheduler"
    if not rest:
        found = f"KubeSched explains all of {checked}." if judged > 1 else f"KubeSched explains {checked}."
    else:
        found = (
            f"KubeSched explains {judged - rest:,} of {checked}; {rest:,} {'is' if rest == 1 else 'are'} unexplained."
        )
    return f"{found} {missed}".rstrip()


def message_sentence(card: queries.ReportCard) -> str:
    """Return how the messages compare, "" without messages."""
    if not card.message_count:
        return ""
    parts = {"equal": "equal ours word by word", "earlier": "equal ours shortly before", "differs": "differ from ours"}
    found = [
        f"{card.messages[name]:,} {agree(card.messages[name], text)}"
        for name, text in parts.items()
        if card.messages.get(name)
    ]
    if not found:
        return f"{count(card.message_count, 'message')} about pods without a node could not be compared."
    return f"Of {count(card.message_count, 'message')} about pods without a node, {', '.join(found)}."


def configuration_sentence(candidates: list[tuple[str, float]]) -> str:
    """Return which candidate configuration the cluster has; candidates are sorted by their likelihood."""
    if not candidates:
        return "No decision has distinguished the candidate configurations yet."
    name, likelihood = candidates[0]
    if likelihood >= 0.95:
        return f"The decisions show the configuration {name} (likelihood {100 * likelihood:.0f}%)."
    alike = " or ".join(name for name, one in candidates if one >= 0.5 * likelihood)
    return f"The decisions fit {alike}; they do not distinguish these yet."


def change_sentence(change: queries.ConfigurationChange) -> str:
    """Return what changed, without the time."""
    if not change.after:
        return (
            "another release or configuration of the scheduler was found or chosen; later decisions are checked by it."
        )
    return f"the scheduler began to decide by {change.after} instead of {change.before}."


def lag_sentence(card: queries.ReportCard) -> str:
    """Return how long it takes until decisions are checked, "" for a few seconds."""
    if card.lag_seconds < SHORT_LAG_S:
        return ""
    return (
        f"Decisions are checked up to {card.lag_seconds:.0f} seconds after they are made, because a kind of object "
        "that does not change is known to be unchanged only once a minute."
    )


def chart(cluster: Cluster, key: str) -> Figure | None:
    """Return stacked bars of outcomes per hour; None for an unknown chart."""
    if key not in CHARTS:
        return None
    hours = queries.report_card(cluster).hours
    times = [line.hour.isoformat() for line in hours]
    per_hour = [line.outcomes if key == BINDINGS else line.messages for line in hours]
    names = [name for name in LOOKS if any(name in counts for counts in per_hour)]
    data = []
    for name in names:
        color, shape = LOOKS[name]
        trace = bar_trace(0, name, times, [counts.get(name, 0) for counts in per_hour], "%{x|%d %b %H:%M}: %{y}")
        data.append(trace | {"marker": {"color": color, "pattern": {"shape": shape}}})
    figure = axes_figure(data, "", key)
    figure["layout"] |= {"barmode": "stack", "showlegend": True}
    figure["layout"]["xaxis"]["type"] = "date"
    return figure
