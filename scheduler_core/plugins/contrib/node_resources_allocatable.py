"""NodeResourcesAllocatable: scores by what nodes offer, whether it is free or not.

Source: sigs.k8s.io/scheduler-plugins, pkg/noderesources (allocatable.go, resource_allocation.go).
"""

from typing import Any, Self

import numpy as np

from scheduler_core.api.plugin_args import Complain, PluginArgs, ResourceSpec
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.resources import counted
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.contrib.linear_scores import LinearlyNormalized
from scheduler_core.provenance.context import BYTES, MILLI, View
from scheduler_core.provenance.tree import Tree, constant, divide_int, multiply, total

LEAST, MOST = "Least", "Most"
DEFAULT_RESOURCES = (ResourceSpec(name="cpu", weight=1 << 20), ResourceSpec(name="memory", weight=1))


class NodeResourcesAllocatableArgs(PluginArgs, frozen=True, kw_only=True):
    """`mode`: whether nodes that offer the least or the most get the highest score."""

    resources: tuple[ResourceSpec, ...] = ()
    mode: str = ""

    def finish(self, complain: Complain) -> Self:
        for i, resource in enumerate(self.resources):
            if resource.weight <= 0:
                problem = f"resource weight of {resource.name} should be a positive value, got :{resource.weight}"
                complain(f"resources[{i}].weight", f"Invalid value: {resource.weight}: {problem}")
        if self.mode not in ("", LEAST, MOST):
            complain("mode", f'Invalid value: "{self.mode[:80]}": invalid support ModeType')
        return type(self)(resources=self.resources or DEFAULT_RESOURCES, mode=self.mode or LEAST)


class NodeResourcesAllocatable(LinearlyNormalized):
    name = "NodeResourcesAllocatable"
    args_class = NodeResourcesAllocatableArgs

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.weights = {resource.name: resource.weight for resource in args.resources}

    @classmethod
    def describe_best(cls, args: Any) -> str:
        return f"the one that offers the {'most' if args.mode == MOST else 'least'} {_named(args)}"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return sum of weight x allocatable / sum of weights; negative if the least is best."""
        nodes = self.cluster.nodes
        sums = np.zeros(len(nodes), np.int64)
        with np.errstate(over="ignore"):
            for name, weight in self.weights.items():
                if counted(name) and name in nodes.allocatable:
                    sums += nodes.allocatable[name] * np.int64(weight)
        weights = sum(self.weights.values())
        shares: fwk.Int64 = (sums // weights)[rows]
        return shares if self.args.mode == MOST else -shares

    def sign(self, pod: PodInfo) -> dict[str, Any] | None:
        return {}

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        terms = []
        sign = 1 if self.args.mode == MOST else -1
        for name, weight in self.weights.items():
            unit = {"cpu": MILLI, "memory": BYTES, "ephemeral-storage": BYTES}.get(name, "")
            offered = constant(0, f"{name} does not count")
            if counted(name):
                offered = view.field(view.node, "status", "allocatable", name, unit=unit, missing=0)
            terms.append(multiply(offered, constant(sign * weight, f"weight of {name}"), name))
        tree = divide_int(total(terms), constant(sum(self.weights.values()), "sum of the weights"))
        return tree.with_text(f"{tree.value} = what {view.node.name} offers of {_named(self.args)}, by weight")


def _named(args: NodeResourcesAllocatableArgs) -> str:
    return " and ".join(dict.fromkeys(resource.name for resource in args.resources[:3]))
