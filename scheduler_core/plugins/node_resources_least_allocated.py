"""NodeResourcesLeastAllocated: prefers nodes with few requested resources.

Upstream (until 1.22): pkg/scheduler/framework/plugins/noderesources (least_allocated.go).
"""

from scheduler_core.plugins.resource_allocation import ResourcesArgs, StrategyPlugin


class NodeResourcesLeastAllocatedArgs(ResourcesArgs, frozen=True, kw_only=True):
    pass


class NodeResourcesLeastAllocated(StrategyPlugin):
    name = "NodeResourcesLeastAllocated"
    args_class = NodeResourcesLeastAllocatedArgs
    strategy_type = "LeastAllocated"
