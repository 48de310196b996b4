"""What the check of a real scheduler says about one of its decisions or messages."""

from typing import Any, Literal

import msgspec

SAME = "same"
TIE = "tie"
EARLIER = "earlier"
ASSUMED = "assumed"
SAMPLED = "sampled"
NOMINATED = "nominated"
BATCHED = "batched"
OTHER_CONFIGURATION = "other-configuration"
UNKNOWN_PLUGIN = "unknown-plugin"
NOT_SCHEDULED = "not-scheduled"
GAP = "gap"
UNEXPLAINED = "unexplained"
OUTCOMES = (
    *(SAME, TIE, EARLIER, ASSUMED, SAMPLED, NOMINATED, BATCHED, OTHER_CONFIGURATION, UNKNOWN_PLUGIN, NOT_SCHEDULED),
    *(GAP, UNEXPLAINED),
)
"""The classes of decisions, in the order in which they are tried. docs/live.md describes them."""

EQUAL = "equal"
DIFFERS = "differs"
MESSAGE_OUTCOMES = (EQUAL, EARLIER, GAP, DIFFERS)
"""The classes of messages."""

MAX_OURS = 20  # of our best nodes are listed


class Judgement(msgspec.Struct, omit_defaults=True):
    """A checked decision, or a checked message about a pod without a feasible node.

    `pod`: namespace/name. `resource_version`: of the pod's update; the decision was before it. `time`: Unix seconds of
    its arrival. `outcome`: one of OUTCOMES, for a message one of MESSAGE_OUTCOMES. `node`: where the pod was bound.
    `ours`: our best nodes, at most MAX_OURS; for a message our message. `message`: that of the real scheduler.
    `configuration`: the candidate by which it was checked. `details`: what the outcome refers to, ready for JSON.
    """

    kind: Literal["decision", "message"]
    pod: str
    resource_version: int
    time: float
    outcome: str
    node: str = ""
    ours: list[str] = []
    message: str = ""
    configuration: str = ""
    details: dict[str, Any] = {}

    @property
    def explained(self) -> bool:
        """Whether the check agrees with the real scheduler, or knows why it cannot tell."""
        return self.outcome not in (UNEXPLAINED, DIFFERS)
