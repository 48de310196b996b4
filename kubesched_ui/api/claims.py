"""The resource claims of a pod in a cycle, device by device. See docs/debugger.md."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, REFUSALS, Refusal, Text, find
from kubesched_ui.models import Run
from kubesched_ui.queries import provenance

router = Router(tags=["debugger"])


class Short(Schema):
    claim: str
    name: str = Field(description="Of the request, `request/subrequest` of a prioritized list")
    wanted: int
    fitting: int = Field(description="Devices that it could have if it were alone")
    seen: int = Field(description="Devices that the node sees")
    out: dict[str, int] = Field(description="Why others are out -> how many")


class Group(Schema):
    """Nodes with the same verdict and the same device counts."""

    fits: bool
    said: str = Field(description="Why not, as the cycle recorded it")
    count: int
    nodes: list[str] = Field(description="The first 100 of them")
    requests: list[Short]


class ClaimsOnNode(Schema):
    node: str
    fits: bool
    said: str
    wanted: int = Field(description="Devices that all claims together want")
    fitting: int = Field(description="Devices that fit one of them")
    claims: list[dict[str, Any]]
    pools: list[dict[str, Any]]


class ClaimsTold(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    pod: str
    cycle: int
    attempt: int
    said: str = Field(description="What kept Filter from being asked, if it was the claims")
    groups: list[Group] = Field(description="A page of them: where the claims can be had, then where least is lacking")
    nodes: int
    total: int = Field(description="How many groups there are")
    page: int
    pages: int
    node: ClaimsOnNode | None = Field(description="The node that is asked for, device by device")


class ClaimsAsked(Schema):
    node: Text = Field("", description="The node that was chosen, else the first of the first group.")
    attempt: int | None = Field(None, ge=1, le=MAX_ID, description="The last one, if nothing is said.")
    cycle: int | None = Field(None, ge=1, le=MAX_ID, description="Instead of the attempt: the number of its cycle.")
    page: int = Field(1, ge=1, le=1_000_000, description="Of the groups, 20 at a time.")


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/claims", response={200: ClaimsTold, **REFUSALS, 409: Refusal})
def claims_of(request: HttpRequest, run_id: int, namespace: str, name: str, asked: Query[ClaimsAsked]) -> HttpResponse:
    """Return the devices that each request of the pod's resource claims finds.

    They are computed again from the cluster before the cycle.
    """
    run = find(Run, run_id)
    cycle = provenance.cycle_of(run, namespace, name, asked.attempt, asked.cycle)
    told = provenance.claims_of(run, cycle, asked.node, asked.page)
    return HttpResponse(msgspec.json.encode(told), content_type="application/json")
