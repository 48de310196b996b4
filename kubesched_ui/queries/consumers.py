"""The websocket of a run's decisions: one short summary per cycle, for pages that follow the run. docs/websocket.md
describes it."""

import msgspec

from kubesched_ui.models import Run
from kubesched_ui.queries.decisions import decisions_after
from kubesched_ui.websockets.run_sockets import LogSubscription

CYCLES = 250  # of one message, about 64 kB


class DecisionSubscription(LogSubscription):
    """/ws/runs/{id}/decisions?since=N: text frames {"decisions": [...]} until the run is over and all are sent."""

    lag = 0  # `since` counts cycles, not events

    @property
    def end(self) -> int:
        """The number of the last cycle that is stored."""
        return self.state.cycles

    def skip(self) -> bool:
        return False

    @staticmethod
    def read(run_id: int, pod: str, since: int, until: int) -> tuple[int, str]:
        """Read the next decisions after cycle `since`, up to cycle `until`.

        Returns:
            The cycle up to which everything is read, and a message with the decisions. `pod` has no effect.
        """
        run = Run.everything.defer("node_names").get(pk=run_id)
        found = decisions_after(run, since, min(CYCLES, until - since))
        if not found:
            return until, ""
        return found[-1]["cycle"], msgspec.json.encode({"decisions": found}).decode()
