"""The events of a run."""

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, REFUSALS, Text, find
from kubesched_ui.event_log.log import join, read_blocks
from kubesched_ui.models import Run

SCANNED = 10_000  # blocks searched per response when events are filtered by type

router = Router(tags=["runs"])


class Events(Schema):
    """Schema for the API documentation only; the response is built from stored text."""

    events: list[dict[str, Any]]
    last_seq: int = Field(description="`since` for the next events.")
    active: bool = Field(description="Whether more events may follow.")


TYPES = Query([], description="Only events of this type; may be repeated.")


@router.get("/runs/{int:run_id}/events", response={200: Events, **REFUSALS})
def events(
    request: HttpRequest,
    run_id: int,
    since: int = Query(0, ge=0, le=MAX_ID),
    limit: int = Query(1000, ge=1, le=10_000),
    pod: Text = "",
    type: list[Text] = TYPES,
) -> HttpResponse:
    """Return events after `since`, at most `limit`.

    With `pod` (namespace/name), only events of that pod and of the run.

    With `type`, a response may have fewer events, or none, although more follow: repeat with `since` set to
    `last_seq` until it no longer changes.
    """
    active = find(Run, run_id).active
    texts, count = [], 0
    for last, text in read_blocks(run_id, since, pod, SCANNED if type else limit, type):
        block = msgspec.json.decode(text, type=list[msgspec.Raw])
        if count + len(block) > limit:
            block = block[: limit - count]
            last = msgspec.json.decode(block[-1])["seq"] if block else since
        texts.append(msgspec.json.encode(block))
        count, since = count + len(block), last
        if count >= limit:
            break
    body = b'{"events":%s,"last_seq":%d,"active":%s}' % (join(texts), since, b"true" if active else b"false")
    return HttpResponse(body, content_type="application/json")
