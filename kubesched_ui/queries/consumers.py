"""The websocket of a run's decisions: one short summary per cycle, for pages that follow the run. docs/websocket.md
describes it."""

from functools import partial

import msgspec

from kubesched_ui.models import Run
from kubesched_ui.queries.decisions import decisions_after
from kubesched_ui.websockets.consumers import serve, shared_read
from kubesched_ui.websockets.run_hub import RunHub, RunSubscriber
from kubesched_ui.websockets.websocket_base import Receive, Scope, Send, attended, send_text

CYCLES = 250  # of one message, about 64 kB


async def decision_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve /ws/runs/{id}/decisions?since=N with text frames {"decisions": [...]}. Raises as `attended`."""
    await attended(partial(serve, stream_decisions), scope, receive, send)


async def stream_decisions(hub: RunHub, subscriber: RunSubscriber, send: Send) -> None:
    """Send the decisions after cycle `since`, until the run is over and all are sent."""
    subscription = subscriber.subscription
    while subscription.active or subscriber.since < subscription.cycles:
        if subscriber.since >= subscription.cycles:
            await hub.wait_for_change(subscription)
            continue
        last, message = await shared_read(hub, subscriber, read_decisions, subscription.cycles)
        if message:
            await hub.turns.mine()
            await send_text(send, message)
        subscriber.since = last


def read_decisions(run_id: int, pod: str, since: int, until: int) -> tuple[int, str]:
    """Read the next decisions after cycle `since`, up to cycle `until`.

    Returns:
        The cycle up to which everything is read, and a message with the decisions. `pod` has no effect.
    """
    run = Run.everything.defer("node_names").get(pk=run_id)
    found = decisions_after(run, since, min(CYCLES, until - since))
    if not found:
        return until, ""
    return found[-1]["cycle"], msgspec.json.encode({"decisions": found}).decode()
