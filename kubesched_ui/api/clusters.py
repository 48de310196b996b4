"""Live clusters: their state now, why pods are pending, the stored history, and the checked decisions. See
docs/live.md."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, ModelSchema, Query, Router, Schema, Status

from kubesched_ui.accounts.permissions import OWN, SEE, START, VISITORS, permission
from kubesched_ui.api.answers import LadderOut
from kubesched_ui.api.common import LIMIT, MAX_ID, NUMBER, REFUSALS, Text, encoded, find
from kubesched_ui.api.scenarios import ScenarioDetail
from kubesched_ui.clusters import node_summaries, queries
from kubesched_ui.clusters.models import Cluster, Decision, HistoryGap, PendingPod
from kubesched_ui.models import MAX_RELEASE, Scenario

router = Router(tags=["live clusters"])

SKIP = Query(0, ge=0, le=MAX_ID // 2, description="Number of entries to skip.")
AT = Query(None, ge=0, le=MAX_ID, description="A resourceVersion of the stored history; null: now.")


class ClusterOut(ModelSchema):
    url: str = ""
    state: str = Field(description="stopped, connecting, listing, following or failed")
    message: str = Field(description="A sentence about the state.")
    limits: list[str] = Field(description="What all answers lack now, such as changes since a time; empty: nothing.")
    release: str = Field(description="Release of its scheduler: the chosen one, or else the found one.")
    counts: dict[str, Any] = Field(
        description="nodes, pods, bound, pending, pending pods by answer (never, not now, not asked), kinds"
    )

    class Meta:
        model = Cluster
        fields = ["id", "name", "connection", "git_version", "resource_version", "changed_at"]

    @staticmethod
    def resolve_url(cluster: Cluster) -> str:
        return f"/api/clusters/{cluster.pk}"

    @staticmethod
    def resolve_state(cluster: Cluster) -> str:
        return queries.follower(cluster).state

    @staticmethod
    def resolve_message(cluster: Cluster) -> str:
        return queries.follower(cluster).sentence

    @staticmethod
    def resolve_limits(cluster: Cluster) -> list[str]:
        return queries.limits(cluster)

    @staticmethod
    def resolve_release(cluster: Cluster) -> str:
        return cluster.used_release


class WatchedKindOut(Schema):
    kind: str
    state: str = Field(description="waiting, listing, watching, retrying, refused or not served")
    resource_version: int
    event_at: datetime | None = Field(description="When the last change or bookmark arrived.")
    message: str = Field(description="What is wrong; empty if all is well.")
    consequence: str = Field(description="What answers lack; empty if they lack nothing.")
    stale_since: datetime | None = Field(description="From when on its changes are unknown; null: they are known.")


class ClusterDetail(ClusterOut):
    kinds: list[WatchedKindOut]

    class Meta(ClusterOut.Meta):
        fields = [
            *ClusterOut.Meta.fields,
            *("release_source", "config", "config_source", "notes", "chosen_release", "chosen_config"),
            *("lag_seconds", "analysis_lag_seconds", "analysed_version", "analysis_message", "version"),
        ]

    @staticmethod
    def resolve_kinds(cluster: Cluster) -> list[queries.KindState]:
        return queries.kinds(cluster)


class PendingPodOut(ModelSchema):
    pod: str = Field(description="namespace/name; namespace/kind/name of a workload that lacks pods")
    subject: str = Field(description="Pod, or the kind of the workload")
    category: str = Field(description="never, not now or not asked; empty: no answer yet")

    class Meta:
        model = PendingPod
        fields = ["since", "category", "cause", "sentence", "details", "answered_version", "answered_at"]

    @staticmethod
    def resolve_pod(row: PendingPod) -> str:
        return row.key


class WhyOut(PendingPodOut):
    limits: list[str] = Field(description="What all answers of the cluster lack now; empty: nothing.")

    class Meta(PendingPodOut.Meta):
        pass

    @staticmethod
    def resolve_limits(row: PendingPod) -> list[str]:
        return queries.limits(row.cluster)


class PendingPage(Schema):
    count: int = Field(description="Number of pending pods that match.")
    limits: list[str] = Field(description="What all answers lack now; empty: nothing.")
    pods: list[PendingPodOut] = Field(description="Those that wait longest first.")


class GapOut(ModelSchema):
    kind: str = Field(description="Empty: all kinds.")

    class Meta:
        model = HistoryGap
        fields = ["kind", "after", "until", "began_at", "ended_at", "reason"]


class PositionOut(Schema):
    resource_version: int
    at: datetime
    changes: int = Field(description="Number of changes since the previous position.")


class HistoryOut(Schema):
    first: int = Field(description="The state is stored from this resourceVersion; 0: nothing is.")
    last: int
    first_at: datetime | None
    last_at: datetime | None
    gaps: list[GapOut]
    positions: list[PositionOut]
    changes: int
    size: int = Field(description="Stored bytes.")


class ChangeOut(Schema):
    kind: str
    type: Literal["A", "M", "D"] = Field(description="Added, modified, deleted.")
    key: str
    resource_version: int
    time: float = Field(description="Unix seconds of its arrival.")
    value: Any = Field(description="The object, a JSON merge patch, or null.")


class DecisionOut(ModelSchema):
    explained: bool

    class Meta:
        model = Decision
        fields = [
            *("id", "pod", "node", "resource_version", "at", "outcome", "message", "message_outcome"),
            *("ours", "details"),
        ]


class DecisionPage(Schema):
    count: int
    decisions: list[DecisionOut] = Field(description="Newest first.")


class HourOut(Schema):
    hour: datetime
    outcomes: dict[str, int]
    messages: dict[str, int]


class ReportOut(Schema):
    decisions: int
    explained: int
    outcomes: dict[str, int] = Field(description="Outcome -> number of bindings.")
    message_count: int
    messages: dict[str, int] = Field(description="Outcome -> number of messages.")
    configuration: dict[str, float] = Field(description="Candidate configuration -> likelihood.")
    hours: list[HourOut]


class ClusterForkIn(Schema):
    model_config = {"extra": "forbid"}

    at: Annotated[int, Field(ge=0, le=MAX_ID), NUMBER] | None = Field(
        None, description="A resourceVersion of the stored history; null: the newest."
    )


class SchedulerIn(Schema):
    model_config = {"extra": "forbid"}

    release: Annotated[Text, Field(max_length=MAX_RELEASE)] = Field("", description="Empty: the found one.")
    config: Annotated[Text, Field(max_length=1_000_000)] = Field(
        "", description="A KubeSchedulerConfiguration; empty: the found one."
    )


class DecisionRun(Schema):
    run: int | None = Field(description="ID of the run; null: the pod did not exist before the decision.")


@router.get("/clusters", response={200: list[ClusterOut], **REFUSALS})
@permission(read=VISITORS)
def clusters(request: HttpRequest, limit: int = LIMIT, offset: int = SKIP) -> QuerySet[Cluster]:
    """List the live clusters that the operator named and that the user may see. None is contacted."""
    return queries.clusters()[offset : offset + limit]


@router.get("/clusters/{int:cluster_id}", response={200: ClusterDetail, **REFUSALS}, url_name="cluster")
def cluster(request: HttpRequest, cluster_id: int) -> Cluster:
    """Return the state of a cluster as it was stored last."""
    return find(Cluster, cluster_id)


@router.post("/clusters/{int:cluster_id}/watch", response={200: ClusterDetail, **REFUSALS})
@permission(write=SEE, action="watch cluster")
def watch_cluster(request: HttpRequest, cluster_id: int) -> Cluster:
    """Follow a cluster for some minutes, as an open page does, and return its state. Repeat this each minute."""
    queries.keep_watching(find(Cluster, cluster_id))
    return find(Cluster, cluster_id)


@router.put("/clusters/{int:cluster_id}/scheduler", response={200: ClusterDetail, **REFUSALS})
@permission(write=OWN, action="choose scheduler")
def choose_scheduler(request: HttpRequest, cluster_id: int, chosen: SchedulerIn) -> Cluster:
    """Choose the release and the configuration for answers and decisions, instead of those that were found."""
    queries.choose(find(Cluster, cluster_id), chosen.release, chosen.config)
    return find(Cluster, cluster_id)


@router.get("/clusters/{int:cluster_id}/map", response={200: dict[str, Any], **REFUSALS})
@permission(cost="large")
def cluster_map(request: HttpRequest, cluster_id: int, at: int | None = AT) -> HttpResponse:
    """Return the cluster in the format of the map of a run."""
    found = find(Cluster, cluster_id)
    columns = queries.columns_now(found) if at is None else queries.columns_at(found, at)
    if columns is None:
        raise Http404(f"Cluster {cluster_id} has not been read yet.")
    return encoded(columns)


@router.get("/clusters/{int:cluster_id}/pending", response={200: PendingPage, **REFUSALS})
def pending_pods(
    request: HttpRequest,
    cluster_id: int,
    text: Annotated[Text, Field(max_length=500, description="In namespace/name or sentence.")] = "",
    category: Annotated[Text, Field(max_length=20, description="never, not now or not asked")] = "",
    cause: Annotated[Text, Field(max_length=60)] = "",
    namespace: Annotated[Text, Field(max_length=253)] = "",
    limit: int = LIMIT,
    offset: int = SKIP,
) -> dict[str, Any]:
    """List the pending pods with why they are pending."""
    cluster = find(Cluster, cluster_id)
    rows = queries.pending_pods(cluster, text, category, cause, namespace)
    return {"count": rows.count(), "limits": queries.limits(cluster), "pods": list(rows[offset : offset + limit])}


@router.get("/clusters/{int:cluster_id}/pods/{namespace}/{name}/why", response={200: WhyOut, **REFUSALS})
def why_pending(request: HttpRequest, cluster_id: int, namespace: str, name: str) -> PendingPod:
    """Return why a pod is pending. Status 404: no pod with this name is pending."""
    found = queries.pending_pod(find(Cluster, cluster_id), f"{namespace}/{name}".replace("\0", ""))
    if found is None:
        raise Http404(f"No pod {namespace}/{name} is pending in cluster {cluster_id}.")
    return found


@router.get("/clusters/{int:cluster_id}/pods/{namespace}/{name}/ladder", response={200: LadderOut, **REFUSALS})
@permission(cost="large")
def pending_ladder(request: HttpRequest, cluster_id: int, namespace: str, name: str) -> HttpResponse:
    """Return all nodes by the number of changes that a pending pod needs to run there, fewest first.

    `ladder` is empty if no pod with this name is pending, if no node was looked at, or if the nodes have changed since.
    """
    cluster, key = find(Cluster, cluster_id), f"{namespace}/{name}".replace("\0", "")
    row = queries.pending_pod(cluster, key)
    ladder = node_summaries.ladder_of_pod(cluster, key) or []
    sentence = row.sentence if row is not None else ""
    return encoded({"pod": key, "sentence": sentence, "ladder": msgspec.to_builtins(ladder)})


@router.get("/clusters/{int:cluster_id}/history", response={200: HistoryOut, **REFUSALS})
def cluster_history(request: HttpRequest, cluster_id: int) -> dict[str, Any]:
    """Return the bounds of the stored history and its gaps."""
    found = queries.history(find(Cluster, cluster_id))
    positions = [{"resource_version": version, "at": at, "changes": n} for version, at, n in found.positions]
    return found._asdict() | {"positions": positions}


@router.get("/clusters/{int:cluster_id}/changes", response={200: list[ChangeOut], **REFUSALS})
@permission(cost="large")
def cluster_changes(
    request: HttpRequest,
    cluster_id: int,
    after: int = Query(0, ge=0, le=MAX_ID, description="A resourceVersion."),
    until: int = Query(MAX_ID, ge=0, le=MAX_ID, description="A resourceVersion."),
    limit: int = LIMIT,
) -> HttpResponse:
    """Return the stored changes after a resourceVersion up to another one. Continue after the last one."""
    found = queries.changes(find(Cluster, cluster_id), after, until, limit)
    return encoded([change._asdict() for change in found])


@router.get("/clusters/{int:cluster_id}/decisions", response={200: DecisionPage, **REFUSALS})
def cluster_decisions(
    request: HttpRequest,
    cluster_id: int,
    text: Annotated[Text, Field(max_length=500, description="In pod, node or message.")] = "",
    outcome: Annotated[Text, Field(max_length=20)] = "",
    message_outcome: Annotated[Text, Field(max_length=10)] = "",
    limit: int = LIMIT,
    offset: int = SKIP,
) -> dict[str, Any]:
    """List the checked decisions and messages of the real scheduler."""
    rows = queries.decisions(find(Cluster, cluster_id), text, outcome, message_outcome)
    return {"count": rows.count(), "decisions": list(rows[offset : offset + limit])}


@router.post("/clusters/{int:cluster_id}/decisions/{int:number}/run", response={200: DecisionRun, **REFUSALS})
@permission(write=START, action="open decision")
def open_decision(request: HttpRequest, cluster_id: int, number: int) -> dict[str, int | None]:
    """Open a decision as a cycle: a run of its pod alone, on the state before it. A second request returns the same
    run."""
    rows = queries.decisions(find(Cluster, cluster_id))
    found = rows.filter(pk=number).first() if number <= MAX_ID else None
    if found is None:
        raise Http404(f"Cluster {cluster_id} has no checked decision {number}.")
    run = queries.open_decision(found)
    return {"run": run.pk if run else None}


@router.get("/clusters/{int:cluster_id}/report", response={200: ReportOut, **REFUSALS})
def report_card(request: HttpRequest, cluster_id: int) -> dict[str, Any]:
    """Return how our scheduler explains the decisions of the real one."""
    found = queries.report_card(find(Cluster, cluster_id))
    return found._asdict() | {"hours": [hour._asdict() for hour in found.hours]}


@router.post("/clusters/{int:cluster_id}/scenarios", response={201: ScenarioDetail, **REFUSALS})
@permission(write=START, action="fork cluster")
def fork_cluster(request: HttpRequest, cluster_id: int, wanted: ClusterForkIn) -> Status[Scenario]:
    """Create a scenario of the cluster at a resourceVersion."""
    return Status(201, queries.fork(find(Cluster, cluster_id), wanted.at))
