"""DefaultPodTopologySpread: the name of SelectorSpread in 1.18.

Upstream (1.18): pkg/scheduler/framework/plugins/defaultpodtopologyspread.
"""

from scheduler_core.plugins.selector_spread import SelectorSpread


class DefaultPodTopologySpread(SelectorSpread):
    name = "DefaultPodTopologySpread"
