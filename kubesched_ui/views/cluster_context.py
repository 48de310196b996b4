"""Context of the pages of a live cluster, from the rows that its follower stored (clusters/queries.py)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from django import forms

from kubesched_ui.clusters import queries
from kubesched_ui.clusters.models import Cluster, PendingPod
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.runs.config_resolution import check
from kubesched_ui.runs.release_choices import release_choices
from kubesched_ui.views import cluster_pod_history
from scheduler_core.cluster.formatting import agree, count, listing
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.framework.plugin_kinds import load_readers
from scheduler_core.live.discovery import platform_of_version
from scheduler_core.live.published_configurations import PUBLISHED, choices, default_configuration, published
from scheduler_core.plugins.contrib.capacity_scheduling import CapacityScheduling
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.shadow import judgement
from scheduler_core.stations.resource_quotas import ResourceQuotaUse, picture_of

DEFAULT = "default"
WITHOUT = ("refused", "not served")  # states of a kind that cannot be read
TONES = {
    Cluster.State.FOLLOWING: "ok",
    Cluster.State.FAILED: "bad",
    Cluster.State.CONNECTING: "live",
    Cluster.State.LISTING: "live",
    Cluster.State.STOPPED: "",
}
# Category -> style of its badge, what it means for a number of pods, a plural verb first, and its tooltip.
CATEGORIES = {
    "never": ("bad", "need a change", "No node takes the pod until the pod, a node or a claim changes."),
    "not now": (
        "warn",
        "wait for other pods or a new node",
        "Other pods hold what it needs, or a node for it is coming.",
    ),
    "not asked": ("held", "wait for something other than a node", "It waits for something other than a node."),
    "": ("", "", "The pod is new or the cluster has changed; the answer follows."),
}
# Outcome of a checked decision -> style of its badge, and its meaning.
OUTCOMES: dict[str, tuple[str, str]] = {
    judgement.SAME: ("ok", "Our scheduler chooses the same node."),
    judgement.TIE: ("ok", "Several nodes have the best score; the real node is one of them."),
    judgement.EARLIER: ("ok", "Equal with the state shortly before, which the scheduler still had."),
    judgement.ASSUMED: ("ok", "Equal if pods that were bound shortly afterwards count already."),
    judgement.SAMPLED: ("ok", "The best of the nodes that the scheduler evaluated, which were not all."),
    judgement.NOMINATED: ("ok", "The node to which preemption had nominated the pod."),
    judgement.BATCHED: ("ok", "The next best node for identical pods (opportunistic batching)."),
    judgement.OTHER_CONFIGURATION: ("warn", "The best node with another known configuration."),
    judgement.UNKNOWN_PLUGIN: (
        "warn",
        "The configuration has a plugin or extender that KubeSched lacks, or reads a load that is not known.",
    ),
    judgement.NOT_SCHEDULED: ("", "No scheduler chose the node, or another scheduler did."),
    judgement.GAP: ("", "Changes are missing there, so the decision is not judged."),
    judgement.UNEXPLAINED: ("bad", "Our scheduler chooses another node."),
    judgement.EQUAL: ("ok", "Our message is equal, word by word."),
    judgement.EARLIER: ("ok", "Equal with the state shortly before."),
    judgement.DIFFERS: ("bad", "Our message differs."),
}


def head(cluster: Cluster, tab: str) -> dict[str, Any]:
    """Return what all pages of a cluster show: the cluster, its `follower`, the style of its state, and `limits`: what
    all answers lack now."""
    follower = queries.follower(cluster)
    return {
        "cluster": cluster,
        "tab": tab,
        "follower": follower,
        "tone": tone_of(cluster, follower),
        "limits": queries.limits(cluster),
    }


def tone_of(cluster: Cluster, follower: queries.FollowerState) -> str:
    """Return the style of the state of a cluster."""
    following = follower.state == Cluster.State.FOLLOWING
    return "warn" if following and queries.limits(cluster) else TONES.get(Cluster.State(follower.state), "")


def sentence(cluster: Cluster) -> str:
    """Return the state of a cluster in one sentence."""
    counts = cluster.counts
    if not counts:
        return queries.follower(cluster).sentence
    pods, pending = counts.get("pods", 0), counts.get("pending", 0)
    on = f"The cluster has {count(counts.get('nodes', 0))}"
    numbers = {name: counts.get(name, counts.get(name.replace(" ", "_"), 0)) for name in PendingPod.Category.values}
    pending = max(pending, sum(numbers.values()))  # bound pods that the kubelet has not started have answers, too
    if not pending and cluster.health.get("Node", {}).get("state") == "refused":
        return f"None of {count(pods, 'pod')} is pending; the nodes cannot be read."
    if not pending:
        return f"{on} and {count(pods, 'pod')}; none is pending."
    parts = [f"{n:,} {agree(n, CATEGORIES[name][1])}" for name, n in numbers.items() if n]
    unanswered = pending - sum(numbers.values())
    if unanswered > 0:
        parts.append(f"{unanswered:,} {'is' if unanswered == 1 else 'are'} not analyzed yet")
    return f"{pending:,} of {count(pods, 'pod')} {'is' if pending == 1 else 'are'} pending: {listing(parts)}."


def without_load(cluster: Cluster) -> str:
    """Return what plugins that read the measured load of nodes mean for a live cluster, whose load is not known; "" if
    the configuration enables none."""
    try:
        configuration = load(
            cluster.used_config or None, get_release(cluster.used_release or NEWEST), unknown="leave_out"
        )
    except InputError:
        return ""
    plugins = load_readers(configuration.profiles)
    if not plugins:
        return ""
    scores = "scores" if len(plugins) == 1 else "score"
    return (
        f"{listing(plugins)} {scores} nodes by their measured load, which is not read from a live cluster: all these "
        "scores are 0 here, so the scheduler may choose other nodes among those that fit; to decide with the load, "
        "upload a snapshot with the output of `kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes`."
    )


def now(cluster: Cluster) -> dict[str, Any]:
    """Return the context of the page of a cluster now, without the list of its pending pods."""
    kinds = queries.kinds(cluster)
    states = Counter(one.state for one in kinds)
    return head(cluster, "now") | {
        "sentence": sentence(cluster),
        "kinds": kinds,
        "without_load": without_load(cluster),
        "watches": listing([f"{number:,} {state}" for state, number in states.most_common()]),
        "consequences": [one for one in kinds if one.consequence and one.state in WITHOUT],
    }


class Badge(NamedTuple):
    """A category or outcome as a badge. `tone`: its style. `meaning`: its tooltip."""

    text: str
    tone: str
    meaning: str


def category_badge(category: str) -> Badge:
    """Return the badge of the category of an answer; `not analyzed yet` if there is no answer."""
    tone, _, meaning = CATEGORIES[category]
    return Badge(category or "not analyzed yet", tone, meaning)


def outcome_badge(outcome: str) -> Badge:
    """Return the badge of the outcome of a checked decision or message."""
    tone, meaning = OUTCOMES.get(outcome, ("", ""))
    return Badge(outcome, tone, meaning)


def lines(clusters: Iterable[Cluster]) -> list[dict[str, Any]]:
    """Return the rows of the list of clusters: with its state, and the counts of the last stored state."""
    found = []
    for cluster in clusters:
        follower = queries.follower(cluster)
        tone = tone_of(cluster, follower)
        found.append({"cluster": cluster, "follower": follower, "tone": tone, "counts": cluster.counts})
    return found


def pending(cluster: Cluster, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the filters of the list of pending pods: categories and causes with their numbers."""
    causes = queries.causes(cluster)
    categories = Counter[str]()
    for category, _, number in causes:
        categories[category] += number
    of_category = [
        (cause, number) for category, cause, number in causes if values.get("category") in (None, "", category)
    ]
    return {
        "categories": [(name, categories[name]) for name in PendingPod.Category.values if categories[name]],
        "causes": [(cause, number) for cause, number in of_category if cause],
        "badges": {name: category_badge(name) for name in ("", *PendingPod.Category.values)},
    }


def pod(cluster: Cluster, key: str) -> dict[str, Any] | None:
    """Return the context of the page of a pod; None if it exists neither now nor in the newest part of the history."""
    waiting = queries.pending_pod(cluster, key)
    changes = cluster_pod_history.changes_of(cluster, key)
    checked = list(queries.decisions(cluster).filter(pod=key)[:20])
    if waiting is None and not changes.steps and not checked:
        return None
    details = waiting.details if waiting else {}
    reported = details.get("scheduler_message") or {}
    return head(cluster, "now") | {
        "key": key,
        "pod": waiting,
        "badge": waiting and category_badge(waiting.category),
        "details": details,
        "leaving": leaving(details),
        "fixes": fixes(details),
        "reported": reported,
        "reports": details.get("reports") or [],
        "changes": changes,
        "moments": cluster_pod_history.moments_of(cluster, changes, waiting),
        "checked": checked,
        "picture": picture_of(msgspec.convert(details.get("quotas") or [], list[ResourceQuotaUse])),
        "outcomes": {name: outcome_badge(name) for name in OUTCOMES},
    }


def fixes(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the suggested fixes as of a `ShownFix`; without changes, because nothing is tried on a live cluster."""
    found = (details.get("answer") or {}).get("fixes", [])
    return [{"fix": one | {"changes": []}, "id": f"fix-{number}"} for number, one in enumerate(found)]


def held_by_quota(details: Mapping[str, Any]) -> bool:
    """Return whether an ElasticQuota keeps a pending pod from all nodes."""
    cause = (details.get("answer") or {}).get("cause") or {}
    return cause.get("plugin") == CapacityScheduling.name


def leaving(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pods that end before a pending pod fits, each with the time at which it should be gone."""
    return [
        one | {"gone_at": cluster_pod_history.at(one["until"]) if one.get("until") else None}
        for one in details.get("leaving", [])
    ]


class ChooseForm(forms.Form):
    """Release and configuration for the answers; empty fields stand for what was found in the cluster.

    `published`: a configuration that a provider of clusters publishes; it replaces the text. `warnings`: about the
    configuration, such as plugins that are left out.
    """

    release = forms.ChoiceField(required=False)
    config = forms.CharField(required=False, strip=False, max_length=1_000_000)

    def __init__(self, cluster: Cluster, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.found = cluster.release or NEWEST
        own = str(self["release"].value() or "")
        self.fields["release"].choices = [("", "as found"), *release_choices(own)]  # type: ignore[attr-defined]
        self.warnings: list[str] = []
        names = choices(platform_of_version(cluster.git_version), get_release(self.found))
        titles = [(name, f"{PUBLISHED[name].platform}: {PUBLISHED[name].description}") for name in names]
        usual = (DEFAULT, "default configuration of the release")
        offered = [("", "as found, or the text below"), usual, *titles]
        self.fields["published"] = forms.ChoiceField(required=False, choices=offered)

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        release = get_release(values.get("release") or self.found)
        if name := values.get("published"):
            values["config"] = to_yaml(published(name, release) if name != DEFAULT else default_configuration(release))
        try:
            if config := values.get("config", "").strip():
                check(config, release.name, "leave_out")
                self.warnings = load(config, release, unknown="leave_out").warnings
        except InputError as error:
            self.add_error("config", str(error))
        return values
