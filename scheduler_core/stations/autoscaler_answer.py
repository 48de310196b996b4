"""The last event of an autoscaler about a pod."""

from typing import NamedTuple

from scheduler_core.stations.waits import Wait


class AutoscalerAnswer(NamedTuple):
    """`promise`: whether a node comes. `wait`: for it, or because of the refusal."""

    promise: bool
    wait: Wait
