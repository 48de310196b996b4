"""The parts of kube-scheduler in the picture that every lesson lights a part of."""

from typing import NamedTuple


class Part(NamedTuple):
    """A box of the picture, in the units of its viewBox. `frame`: other parts are inside it. `label_x`: the x
    coordinate of the label's middle, by default that of the box.

    The label is at the top: pods and nodes move along the bottom of a box and between boxes, never over a label.
    """

    name: str
    label: str
    x: int
    y: int
    width: int
    height: int
    frame: bool = False
    label_x: int = 0

    @property
    def middle(self) -> int:
        """The x coordinate of the label."""
        return self.label_x or self.x + self.width // 2

    @property
    def baseline(self) -> int:
        """The y coordinate of the label."""
        return self.y + (18 if self.frame else 16)


PARTS = (
    Part("api-server", "API server", 8, 26, 104, 150),
    Part("informers", "Informers", 138, 46, 92, 40),
    Part("pre-enqueue", "PreEnqueue", 138, 112, 92, 40),
    Part("queue", "Queue", 254, 20, 146, 156, frame=True),
    Part("active", "activeQ", 264, 46, 126, 36),
    Part("backoff", "backoffQ", 264, 88, 126, 36),
    Part("unschedulable", "unschedulable", 264, 130, 126, 36),
    Part("scheduling-cycle", "Scheduling cycle", 424, 20, 330, 156, frame=True),
    Part("pre-filter", "PreFilter", 432, 46, 78, 44),
    Part("filter", "Filter", 516, 46, 74, 44),
    Part("pre-score", "PreScore", 596, 46, 76, 44),
    Part("score", "Score", 678, 46, 68, 44),
    Part("extenders", "Extenders", 432, 118, 84, 44),
    Part("post-filter", "PostFilter", 522, 118, 84, 44),
    Part("reserve", "Reserve", 612, 118, 68, 44),
    Part("permit", "Permit", 686, 118, 60, 44),
    Part("binding-cycle", "Binding cycle", 778, 20, 214, 156, frame=True),
    Part("wait-on-permit", "WaitOnPermit", 786, 46, 108, 44),
    Part("pre-bind", "PreBind", 900, 46, 84, 44),
    Part("bind", "Bind", 786, 118, 108, 44),
    Part("post-bind", "PostBind", 900, 118, 84, 44),
    Part("profiles", "Profiles", 138, 196, 92, 36),
    Part("cache", "Cache: nodes, pods on them, assumed pods", 254, 196, 500, 36, label_x=420),
    Part("events", "Events", 778, 196, 104, 36),
    Part("metrics", "Metrics", 888, 196, 104, 36),
)
LABELS = {part.name: part.label.partition(":")[0] for part in PARTS}
