"""TaintToleration."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import WORDING, off, on


@dataclass(frozen=True, kw_only=True)
class TaintTolerationBehaviors:
    taint_reason_reworded: bool = on(
        "the reason of TaintToleration is 'untolerated taint'",
        "the reason of TaintToleration is that the pod did not tolerate the taint",
        WORDING,
        since="1.24",
    )
    taint_reason_names_taint: bool = off(
        "the reason of TaintToleration names the taint",
        "the reason of TaintToleration does not name the taint",
        "only the message differs: taints are no longer counted separately; use the nodes' taints instead",
        since="1.18",
        until="1.34.1",
        pull=134740,
        picks=(135023,),
    )
