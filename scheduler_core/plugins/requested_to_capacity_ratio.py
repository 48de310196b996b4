"""RequestedToCapacityRatio: scores nodes by a configured function of their utilization.

Upstream (until 1.22): pkg/scheduler/framework/plugins/noderesources (requested_to_capacity_ratio.go).
"""

from typing import Self

from scheduler_core.api.plugin_args import Complain, UtilizationShapePoint
from scheduler_core.plugins.resource_allocation import ResourcesArgs, StrategyPlugin, check_shape


class RequestedToCapacityRatioArgs(ResourcesArgs, frozen=True, kw_only=True):
    shape: tuple[UtilizationShapePoint, ...] = ()

    def finish(self, complain: Complain) -> Self:
        check_shape(complain, "shape", self.shape)
        return super().finish(complain)


class RequestedToCapacityRatio(StrategyPlugin):
    name = "RequestedToCapacityRatio"
    args_class = RequestedToCapacityRatioArgs
    opt_in = True
    strategy_type = "RequestedToCapacityRatio"
