"""Parameters of the questions: the section of an Experiment document that has the name of its question."""

from __future__ import annotations

from typing import Any, Literal

from scheduler_core.api.duration import seconds
from scheduler_core.errors import InputError
from scheduler_core.virtual_time.scenario import Duration, StrictStruct

MAX_MIX = 20  # pods of a capacity mix
MAX_WEIGHT = 1_000
MAX_ADDED = 1_000_000
MAX_TARGETS = 64  # pending pods that moves make fit together
MAX_MOVES = 20
MAX_EFFORT = 1_000_000
MAX_OUTAGE = 7 * 86400.0

PendingPods = Literal["first", "ignore"]
"""What happens to the pending pods of the scenario: scheduled first, or left out."""


class NoiseParameters(StrictStruct, kw_only=True):
    """Noise has no parameters: its seeds are those of the document."""


class CapacityPod(StrictStruct, kw_only=True):
    """The pod that capacity adds: exactly one of `pod` (namespace/name), `workload` (`Deployment namespace/name`),
    `template` (a Pod or workload, as text or object) and `requests` (resource -> quantity). `name`: as results show it.
    """

    pod: str = ""
    workload: str = ""
    template: str | dict[str, Any] = ""
    requests: dict[str, str | int | float] = {}
    weight: int = 1
    name: str = ""

    def check(self, path: str) -> None:
        """Raises InputError that names the field below `path`."""
        given = [name for name in ("pod", "workload", "template", "requests") if getattr(self, name)]
        if len(given) != 1:
            got = f"; there are {' and '.join(given)}" if given else ""
            raise InputError("", path, f"must have exactly one of pod, workload, template and requests{got}")
        if not 1 <= self.weight <= MAX_WEIGHT:
            raise InputError("", f"{path}.weight", f"must be in 1..{MAX_WEIGHT:,}, got {self.weight}")


class CapacityParameters(StrictStruct, kw_only=True):
    """Parameters of capacity.

    `pods`: one pod, or a mix that arrives by weight. `separately`: each pod alone, not as a mix. `pending`: whether the
    pending pods of the scenario are scheduled first or left out. `by_group`: also each node group alone. `group_label`:
    the label of nodes whose values are the groups; "" for the one that `node_groups` chooses. `limit`: of added pods.
    """

    pods: list[CapacityPod]
    separately: bool = False
    pending: PendingPods = "ignore"
    by_group: bool = True
    group_label: str = ""
    limit: int = 100_000

    def check(self, path: str) -> None:
        """Raises InputError that names the field below `path`."""
        if not 1 <= len(self.pods) <= MAX_MIX:
            raise InputError("", f"{path}.pods", f"must have 1..{MAX_MIX} pods, got {len(self.pods)}")
        for number, pod in enumerate(self.pods):
            pod.check(f"{path}.pods[{number}]")
        if not 1 <= self.limit <= MAX_ADDED:
            raise InputError("", f"{path}.limit", f"must be in 1..{MAX_ADDED:,}, got {self.limit}")


class LossParameters(StrictStruct, kw_only=True):
    """Parameters of drain and loss. `mode`: the nodes are drained, or deleted with their pods. `scope`: what is lost at
    once: each node, each node group or each zone. `label`: the node label whose values are the groups; "" for the
    label of a cloud provider, else equal quantities. `only`: names of nodes, groups or zones; all by default.
    `virtual_time`: whether a lost zone is also computed in virtual time, where its nodes become unreachable and return
    after `outage`."""

    mode: Literal["drain", "loss"] = "loss"
    scope: Literal["node", "group", "zone"] = "node"
    label: str = ""
    only: list[str] = []
    virtual_time: bool = True
    outage: Duration = "1h"

    def check(self, path: str) -> None:
        """Raises InputError."""
        if self.label and self.scope != "group":
            raise InputError("", f"{path}.label", f"is only for the scope group, got {self.scope}")
        try:
            longest = seconds(self.outage)
        except ValueError as problem:
            raise InputError("", f"{path}.outage", str(problem)) from None
        if not 0 < longest <= MAX_OUTAGE:
            raise InputError("", f"{path}.outage", f"must be more than 0 and at most 7 days, got {self.outage}")


class BuyParameters(StrictStruct, kw_only=True):
    """Parameters of buy."""


class TuneParameters(StrictStruct, kw_only=True):
    """Parameters of tune."""


class MovesParameters(StrictStruct, kw_only=True):
    """Parameters of moves.

    `pods`: the pending pods that should fit, as namespace/name. `group`: instead, the pending pods of this pod group
    (namespace/name). `pending`: whether all pending pods of the scenario are scheduled first, as a run does, or the
    other ones are left out. `most`: the largest number of moves that is searched for. `effort`: the number of Filter
    runs after which the search ends.
    """

    pods: list[str] = []
    group: str = ""
    pending: PendingPods = "first"
    most: int = 8
    effort: int = 20_000

    def check(self, path: str) -> None:
        """Raises InputError that names the field below `path`."""
        if bool(self.pods) == bool(self.group):
            raise InputError("", f"{path}.pods", "must name pending pods, or group must name a pod group")
        if len(self.pods) > MAX_TARGETS:
            raise InputError("", f"{path}.pods", f"must be at most {MAX_TARGETS} pods, got {len(self.pods)}")
        if not 0 <= self.most <= MAX_MOVES:
            raise InputError("", f"{path}.most", f"must be in 0..{MAX_MOVES}, got {self.most}")
        if not 1 <= self.effort <= MAX_EFFORT:
            raise InputError("", f"{path}.effort", f"must be in 1..{MAX_EFFORT:,}, got {self.effort}")


class PackingParameters(StrictStruct, kw_only=True):
    """Parameters of compaction and workload inflation."""
