"""Comparison of two runs. See docs/debugger.md."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, Refusal, Text, find
from kubesched_ui.api.debugger import ASKED, encoded
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
    nodes_used: list[int] = Field(description="With a pod on them")
    requested_share: dict[str, dict[str, list[float | None]]] = Field(
        description="Resource -> mean, stddev, min, max over the nodes that have it, of requested by allocatable"
    )
    pending: list[int]
    victims: list[int]
    stranded: dict[str, list[int | None]] = Field(
        description="Resource -> what is free of it on nodes where no pod of the runs that asks for it has room"
    )


class FirstDifference(Schema):
    point: str
    plugin: str
    node: str = Field(description="The first node, in the order of the snapshot, on which they differ")
    a: Any = None
    b: Any = None
    part: str = Field("", description="Of a point: raw, normalized, weight ...")


class Divergence(FirstDifference):
    cycle: int
    pod: str


class OutcomeOut(Schema):
    result: str
    node: str
    score: int | None
    cycle: int = Field(description="Of the last attempt")


class PodCompared(Schema):
    pod: str
    change: str = Field(description="same, moved, gained, lost, other, only_a or only_b")
    a: OutcomeOut | None
    b: OutcomeOut | None
    first: FirstDifference | None = Field(description="The first thing that differs in the last attempts")
    first_known: bool = Field(True, description="false: not looked at; ask for this pod alone")


class CycleStep(Schema):
    point: str
    plugin: str
    part: str
    same: bool
    a: str
    b: str
    nodes: int = Field(description="On how many nodes the two differ")
    example: dict[str, Any] | None


class Compared(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    settings: list[Difference]
    objects: list[ObjectDifference] = Field(description="Between the clusters that the runs began with")
    more_objects: int = Field(description="Differences of objects beyond those told")
    summary: dict[str, int]
    sentence: str
    metrics: Figures = Field(description="[a's, b's]")
    divergence: Divergence | None = Field(description="The first cycle that came to something else")
    pods: list[PodCompared]
    steps: list[CycleStep] | None = Field(None, description="With `pod`: both cycles, plugin by plugin")


A = Query(..., ge=1, le=MAX_ID, description="Number of a run")
B = Query(..., ge=1, le=MAX_ID, description="Number of another")
CAUSE_POD = Query(..., min_length=1, max_length=600, description="namespace/name")
POD = Query("", max_length=600, description="namespace/name: this pod alone, plugin by plugin")


@router.get("/compare", response={200: Compared, **ASKED})
def compare(request: HttpRequest, a: int = A, b: int = B, pod: Text = POD) -> HttpResponse:
    """Compare two runs, of the same scenario or of different ones: their differences and the outcome of each pod.

    Active runs are compared as far as they have come.
    """
    return encoded(comparison_of(find(Run, a), find(Run, b)).as_dict(pod))


class Partners(Schema):
    of: list[int] = Field(
        description="Of each cycle of a the cycle of b that tried the same pod the same time; -K: before b's cycle K"
    )
    parting: int | None = Field(description="The first cycle of a whose partner came to something else")


@router.get("/compare/partners", response={200: Partners, **ASKED})
def partners(request: HttpRequest, a: int = A, b: int = B) -> HttpResponse:
    """Match the cycles of two runs by pod, so that different runs can be stepped through together."""
    of, parting = comparisons.partners_of(find(Run, a), find(Run, b))
    return encoded({"of": of, "parting": parting})


class CauseUnit(Schema):
    kind: str = Field(description="release, setting, config, object, scenario or change")
    path: str = Field(description="Of a release the name of the behaviour")
    since: str = Field(description="Of a release: the Kubernetes release that changed it")
    text: str
    a: Any = None
    b: Any = None


class CauseOut(Schema):
    a: dict[str, Any] = Field(description="result and node in a; of runs in time t, the second of the last attempt")
    b: dict[str, Any]
    causes: list[CauseUnit] | None = Field(description="Applied to a alone they give b's outcome; null: none found")
    minimal: bool = Field(description="No smaller set does: each was run")
    runs: int
    note: str


@router.get("/compare/cause", response={200: CauseOut, **ASKED, 503: Refusal})
def cause(request: HttpRequest, a: int = A, b: int = B, pod: Text = CAUSE_POD) -> HttpResponse:
    """Find the smallest set of differences between two runs that explains a pod's outcome in b.

    Both runs must be single-pass, or both in virtual time. Run a is simulated again with the differences: single
    behaviours of a release, parts of a configuration, objects, entries of a scenario, a fork's changes and
    settings.
    """
    return encoded(comparisons.cause(find(Run, a), find(Run, b), pod).as_dict())
