"""NodeResourcesMostAllocated: prefers nodes with many requested resources.

Upstream (until 1.22): pkg/scheduler/framework/plugins/noderesources (most_allocated.go).
"""

from scheduler_core.plugins.resource_allocation import ResourcesArgs, StrategyPlugin


class NodeResourcesMostAllocatedArgs(ResourcesArgs, frozen=True, kw_only=True):
    pass


class NodeResourcesMostAllocated(StrategyPlugin):
    name = "NodeResourcesMostAllocated"
    args_class = NodeResourcesMostAllocatedArgs
    opt_in = True
    strategy_type = "MostAllocated"
