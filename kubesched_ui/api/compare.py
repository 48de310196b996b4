"""Comparison of two runs. See docs/debugger.md."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.accounts.permissions import VISITORS, permission
from kubesched_ui.api.common import MAX_ID, RECORDED, Text, encoded, find
from kubesched_ui.models import Run
from kubesched_ui.queries import comparisons
from kubesched_ui.queries.comparisons import comparison_of

router = Router(tags=["debugger"])


class Difference(Schema):
    path: str
    a: Any = None
    b: Any = None


class ObjectDifference(Difference):
    kind: str
    namespace: str
    name: str


class Figures(Schema):
    nodes: list[int]
    nodes_used: list[int] = Field(description="Nodes with at least one pod")
    requested_share: dict[str, dict[str, list[float | None]]] = Field(
        description="Resource -> mean, stddev, min, max and jain (Jain's index) of requested/allocatable over the "
        "nodes that have the resource"
    )
    pending: list[int]
    victims: list[int]
    stranded: dict[str, list[int | None]] = Field(
        description="Resource -> free quantity on nodes where no pod of the runs fits, although one that requests the "
        "resource would fit if the other resources sufficed"
    )


class FirstDifference(Schema):
    point: str
    plugin: str
    node: str = Field(description="A differing node: one that a run chose if possible, otherwise the first")
    kind: str = Field(description="verdict, score, outcome or words (only the message differs)")
    a: Any = None
    b: Any = None
    part: str = Field("", description="Part of a point: raw, normalized, weight ...")
    text: str = Field("", description="The difference as a sentence, empty if it has none")


class Divergence(FirstDifference):
    cycle: int
    pod: str


class OutcomeOut(Schema):
    result: str
    node: str
    score: int | None
    cycle: int = Field(description="Cycle of the last attempt")


class PodCompared(Schema):
    pod: str
    change: str = Field(description="same, moved, gained, lost, gone, other, only_a or only_b")
    a: OutcomeOut | None
    b: OutcomeOut | None
    first: FirstDifference | None = Field(
        description="The difference between the last attempts that explains them: a verdict, otherwise a score, the "
        "outcome, words"
    )
    first_known: bool = Field(True, description="false: not computed; request this pod alone")


class CycleStep(Schema):
    point: str
    plugin: str
    part: str
    same: bool
    kind: str = Field(description='verdict, score, outcome, words or evaluated (nodes); "" if the steps are the same')
    a: str
    b: str
    nodes: int = Field(description="Number of nodes on which the two differ")
    example: dict[str, Any] | None


class Compared(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    settings: list[Difference]
    objects: list[ObjectDifference] = Field(description="Differences between the initial clusters")
    more_objects: int = Field(description="Number of further differences of objects")
    summary: dict[str, int]
    sentence: str
    metrics: Figures = Field(description="Each value is [a, b]")
    divergence: Divergence | None = Field(description="The first cycle with another result")
    pods: list[PodCompared]
    steps: list[CycleStep] | None = Field(None, description="With `pod`: a comparison of both cycles, plugin by plugin")


A = Query(..., ge=1, le=MAX_ID, description="ID of a run")
B = Query(..., ge=1, le=MAX_ID, description="ID of another run")
CAUSE_POD = Query(..., min_length=1, max_length=600, description="namespace/name")
POD = Query("", max_length=600, description="namespace/name: compare only this pod, plugin by plugin")


@router.get("/compare", response={200: Compared, **RECORDED})
@permission(read=VISITORS, cost="always")
def compare(request: HttpRequest, a: int = A, b: int = B, pod: Text = POD) -> HttpResponse:
    """Compare two runs, of the same scenario or of different ones: their differences and the outcome of each pod.

    Active runs are compared up to their current progress.
    """
    return encoded(comparison_of(find(Run, a), find(Run, b)).as_dict(pod))


class Partners(Schema):
    of: list[int] = Field(
        description="For each cycle of a, the cycle of b with the same attempt of the same pod; -K: before b's cycle K"
    )
    parting: int | None = Field(description="The first cycle of run a whose partner has another result")


@router.get("/compare/partners", response={200: Partners, **RECORDED})
@permission(read=VISITORS, cost="always")
def partners(request: HttpRequest, a: int = A, b: int = B) -> HttpResponse:
    """Match the cycles of two runs by pod, so that a client can step through both together."""
    of, parting = comparisons.partners_of(find(Run, a), find(Run, b))
    return encoded({"of": of, "parting": parting})


class CauseUnit(Schema):
    kind: str = Field(description="release, setting, config, object, scenario or change")
    path: str = Field(description="For a release: the name of the behaviour")
    since: str = Field(description="For a release: the Kubernetes release that changed the behaviour")
    text: str = Field(description="For a release: what the scheduler does in b")
    a: Any = None
    b: Any = None
    before: str = Field("", description="For a release: what the scheduler does in a")
    expect: str = Field("", description="For a release: the effect on a cluster")
    link: str = Field("", description="For a release: where upstream documents the change")


class CauseOut(Schema):
    a: dict[str, Any] = Field(description="result and node in a; in virtual time also t, the time of the last attempt")
    b: dict[str, Any]
    causes: list[CauseUnit] | None = Field(description="Applied to a, they give b's outcome; null: none found")
    minimal: bool = Field(description="Whether all smaller sets were tried, and none gives b's outcome")
    runs: int
    note: str


@router.get("/compare/cause", response={200: CauseOut, **RECORDED})
@permission(read=VISITORS, cost="always")
def cause(request: HttpRequest, a: int = A, b: int = B, pod: Text = CAUSE_POD) -> HttpResponse:
    """Find the smallest set of differences between two runs that explains a pod's outcome in b.

    Both runs must be single-pass, or both in virtual time. Run a is simulated again with the differences: single
    behaviours of a release, parts of a configuration, objects, entries of a scenario, a fork's changes and
    settings.
    """
    return encoded(comparisons.cause(find(Run, a), find(Run, b), pod).as_dict())
