"""Parameters of the questions: the section of an Experiment document that has the name of its question."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.duration import seconds
from scheduler_core.errors import InputError, refuse
from scheduler_core.metrics.catalog import PENDING_BY, metric_of
from scheduler_core.metrics.pareto import Direction
from scheduler_core.plugins import PLUGINS
from scheduler_core.virtual_time.scenario import Duration, StrictStruct

MAX_MIX = 20  # pods of a capacity mix
MAX_WEIGHT = 1_000
MAX_ADDED = 1_000_000
MAX_TARGETS = 64  # pending pods that moves make fit together
MAX_MOVES = 20
MAX_EFFORT = 1_000_000
MAX_ORDERS = 1_000  # of nodes
MAX_OUTAGE = 7 * 86400.0
MAX_NODE_TYPES = 50
MAX_BOUGHT = 100_000  # nodes of a type
MAX_PRICE = 1_000_000
MAX_RESOURCES = 50  # of a node type
MAX_LABELS = 100
MAX_TEXT = 100
MAX_SEARCH_SECONDS = 300
MAX_AIMS = 8
MAX_TRIALS = 1_000
MAX_BATCH = 100
MAX_TUNED_WEIGHT = 100  # of a score plugin

PendingPods = Literal["first", "ignore"]
"""What happens to the pending pods of the scenario: scheduled first, or left out."""


Measure = Literal["compaction", "replicas", "requests"]


def refuse_outside(path: str, value: float, least: float, most: float) -> None:
    """Raise InputError if the value of a field is not in least..most."""
    refuse(not least <= value <= most, path, f"must be in {least}..{most:,}, got {value:,}")


def refuse_length(path: str, values: Sequence[Any], most: int, what: str) -> None:
    """Raise InputError if a field has no values, or too many."""
    refuse(not 1 <= len(values) <= most, path, f"must have 1..{most} {what}, got {len(values)}")


def seconds_of(path: str, duration: Duration) -> float:
    """Return a duration of the document in seconds. Raises InputError."""
    try:
        return seconds(duration)
    except ValueError as problem:
        raise InputError("", path, str(problem)) from None


class Section(StrictStruct, kw_only=True):
    """A part of the document with limits of its own."""

    def check(self, path: str) -> None:
        """Raise InputError that names the field below `path`."""


class NoiseParameters(Section, kw_only=True):
    """Noise has no parameters: its seeds are those of the document."""


class CapacityPod(Section, kw_only=True):
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
        given = [name for name in ("pod", "workload", "template", "requests") if getattr(self, name)]
        got = f"; there are {' and '.join(given)}" if given else ""
        refuse(len(given) != 1, path, f"must have exactly one of pod, workload, template and requests{got}")
        refuse_outside(f"{path}.weight", self.weight, 1, MAX_WEIGHT)


class CapacityParameters(Section, kw_only=True):
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
        refuse_length(f"{path}.pods", self.pods, MAX_MIX, "pods")
        for number, pod in enumerate(self.pods):
            pod.check(f"{path}.pods[{number}]")
        refuse_outside(f"{path}.limit", self.limit, 1, MAX_ADDED)


class LossParameters(Section, kw_only=True):
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
        wrong = bool(self.label) and self.scope != "group"
        refuse(wrong, f"{path}.label", f"is only for the scope group, got {self.scope}")
        wrong = not 0 < seconds_of(f"{path}.outage", self.outage) <= MAX_OUTAGE
        refuse(wrong, f"{path}.outage", f"must be more than 0 and at most 7 days, got {self.outage}")


class NodeTypeTaint(StrictStruct, kw_only=True):
    """A taint of new nodes."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class NodeType(Section, kw_only=True):
    """A type of nodes that can be bought. `price`: of one node, with at most 6 decimals. `allocatable`: as in the
    status of a node; `pods` is 110 if it is missing. `max_count`: the most nodes of this type."""

    name: str
    price: float
    allocatable: dict[str, str | int | float]
    labels: dict[str, str] = {}
    taints: list[NodeTypeTaint] = []
    max_count: int | None = None

    def check(self, path: str) -> None:
        wrong = not self.name.strip() or len(self.name) > MAX_TEXT
        refuse(wrong, f"{path}.name", f"must have 1..{MAX_TEXT} characters")
        refuse_outside(f"{path}.price", self.price, 0, MAX_PRICE)
        wrong = round(self.price, 6) != self.price
        refuse(wrong, f"{path}.price", f"must have at most 6 decimals, got {self.price}")
        refuse_outside(f"{path}.maxCount", self.max_count or 0, 0, MAX_BOUGHT)
        for field, most, number in (
            ("allocatable", MAX_RESOURCES, len(self.allocatable)),
            ("labels", MAX_LABELS, len(self.labels)),
            ("taints", MAX_LABELS, len(self.taints)),
        ):
            refuse(number > most, f"{path}.{field}", f"must be at most {most}, got {number}")
        for resource, text in self.allocatable.items():
            at = f"{path}.allocatable.{resource[:63]}"
            try:
                amount = quantity.nano_value(text)
            except quantity.QuantityError as problem:
                raise InputError("", at, str(problem)) from None
            refuse(amount < 0, at, f"must not be negative, got {text}")


class BuyParameters(Section, kw_only=True):
    """Parameters of buy.

    `workload`: "pending" places the pending pods, on free space of the existing nodes first; "all" places every pod on
    new nodes alone. `currency`: stands before prices. `per`: the time that prices are for, such as "hour" or "month".
    `seconds`: of processor time for the search of each cell.
    """

    catalog: list[NodeType]
    workload: Literal["pending", "all"] = "pending"
    currency: str = "$"
    per: str = "hour"
    seconds: float = 10.0

    def check(self, path: str) -> None:
        refuse_length(f"{path}.catalog", self.catalog, MAX_NODE_TYPES, "types")
        names = [one.name for one in self.catalog]
        for number, one in enumerate(self.catalog):
            one.check(f"{path}.catalog[{number}]")
            refuse(one.name in names[:number], f"{path}.catalog[{number}].name", f"{one.name!r} occurs twice")
        refuse(len(self.currency) > 4, f"{path}.currency", "must have at most 4 characters")
        refuse(len(self.per) > 20, f"{path}.per", "must have at most 20 characters")
        refuse_outside(f"{path}.seconds", self.seconds, 1, MAX_SEARCH_SECONDS)


class TuneAim(Section, kw_only=True):
    """A metric to improve. `better`: which values are, if the metric does not say. `weight`: in a mix of aims."""

    metric: str
    better: Direction | None = None
    weight: float = 1.0

    def check(self, path: str) -> None:
        try:
            known = metric_of(self.metric[:MAX_TEXT]).better
        except KeyError:
            raise InputError("", f"{path}.metric", f"{self.metric[:MAX_TEXT]!r} is not a metric") from None
        plugin = self.metric.removeprefix(PENDING_BY)
        wrong = plugin != self.metric and plugin not in PLUGINS
        refuse(wrong, f"{path}.metric", f"{plugin[:MAX_TEXT]!r} is not a plugin")
        wrong = self.better is None and known is None
        refuse(wrong, f"{path}.better", f"is missing: {self.metric} has no better direction of its own")
        wrong = not 0 < self.weight <= MAX_WEIGHT
        refuse(wrong, f"{path}.weight", f"must be above 0 and at most {MAX_WEIGHT:,}, got {self.weight}")

    @property
    def direction(self) -> Direction:
        """Which values are better."""
        return self.better or metric_of(self.metric).better or "lower"


Strategy = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]


class TuneParameters(Section, kw_only=True):
    """Parameters of tune.

    `aims`: one, or several as a weighted mix. `front`: search the Pareto front of the aims instead of their mix.
    `trials`: how many configurations are tried, the given one included, `batch` of them at a time. `plugins`: the score
    plugins whose weights vary, from 0 to `max_weight`; [] for all of the profile. `strategies`: of NodeResourcesFit;
    [] leaves it unchanged. `resources`: those whose weights and shape the strategies vary. `percentage`: whether
    percentageOfNodesToScore varies as well.
    """

    aims: list[TuneAim]
    front: bool = False
    trials: int = 60
    batch: int = 10
    plugins: list[str] = []
    max_weight: int = 10
    strategies: list[Strategy] = msgspec.field(default_factory=lambda: list(get_args(Strategy)))
    resources: list[str] = msgspec.field(default_factory=lambda: ["cpu", "memory"])
    percentage: bool = False

    def check(self, path: str) -> None:
        refuse_length(f"{path}.aims", self.aims, MAX_AIMS, "aims")
        metrics = [aim.metric for aim in self.aims]
        for number, aim in enumerate(self.aims):
            aim.check(f"{path}.aims[{number}]")
            refuse(aim.metric in metrics[:number], f"{path}.aims[{number}].metric", f"{aim.metric} occurs twice")
        refuse(self.front and len(self.aims) < 2, f"{path}.front", "needs at least two aims")
        refuse_outside(f"{path}.trials", self.trials, 1, MAX_TRIALS)
        refuse_outside(f"{path}.batch", self.batch, 1, MAX_BATCH)
        refuse_outside(f"{path}.maxWeight", self.max_weight, 1, MAX_TUNED_WEIGHT)
        for field, values in (("strategies", self.strategies), ("resources", self.resources)):
            wrong = len(set(values)) != len(values) or len(values) > MAX_AIMS
            refuse(wrong, f"{path}.{field}", f"must be at most {MAX_AIMS} different values")
        refuse(bool(self.strategies) and not self.resources, f"{path}.resources", "must not be empty")


class MovesParameters(Section, kw_only=True):
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
        wrong = bool(self.pods) == bool(self.group)
        refuse(wrong, f"{path}.pods", "must name pending pods, or group must name a pod group")
        wrong = len(self.pods) > MAX_TARGETS
        refuse(wrong, f"{path}.pods", f"must be at most {MAX_TARGETS} pods, got {len(self.pods)}")
        refuse_outside(f"{path}.most", self.most, 0, MAX_MOVES)
        refuse_outside(f"{path}.effort", self.effort, 1, MAX_EFFORT)


class PackingParameters(Section, kw_only=True):
    """Parameters of compaction and workload inflation.

    `measures`: `compaction` (the fewest nodes), `replicas` and `requests` (the largest factor). `pending`: whether the
    pending pods of the scenario belong to the workload. `orders`: random orders of the nodes, a cell for each.
    `picky`: the share of pods that may stay pending.
    """

    measures: list[Measure] = msgspec.field(default_factory=lambda: ["compaction", "replicas"])
    pending: PendingPods = "first"
    orders: int = 11
    picky: float = 0.002

    def check(self, path: str) -> None:
        wrong = not self.measures or len(set(self.measures)) < len(self.measures)
        refuse(wrong, f"{path}.measures", "must name at least one measure, each once")
        refuse_outside(f"{path}.orders", self.orders, 1, MAX_ORDERS)
        refuse_outside(f"{path}.picky", self.picky, 0, 0.5)
