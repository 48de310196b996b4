"""Score plugins that a release loads several times, because the profile enables them again at score.

Upstream: RunScorePlugins (pkg/scheduler/framework/runtime/framework.go) keeps the scores by the name of the plugin, and
normalizes and weighs them once for each time that the plugin is loaded. See kubernetes/kubernetes#122066.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduler_core.api.profile import Repeated
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.score_columns import Score


def normalizing(plugin: type[fwk.Plugin], times: int) -> type[fwk.Plugin]:
    """Return a class whose scores are normalized that often; such scores have no explanation."""
    if not issubclass(plugin, fwk.ScorePlugin) or plugin.normalize is None:
        return plugin
    once: Any = plugin.normalize

    def normalize(self: Any, state: fwk.CycleState, pod: Any, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        for _ in range(times):
            scores = once(self, state, pod, scores, rows)
        return scores

    members = {"__module__": plugin.__module__, "normalize": normalize, "explain_normalize": lambda *_: None}
    return type(plugin.__name__, (plugin,), members)


def check_repeated(repeated: Mapping[str, Repeated], scores: Mapping[str, Score]) -> None:
    """Check the scores each time they are weighed. Raises ScoreError for the first one that is out of range."""
    for name, (times, weight) in repeated.items():
        if name not in scores:
            continue
        weighed = scores[name].normalized
        for _ in range(times - 1):
            weighed = weighed * weight
            invalid = np.flatnonzero(weighed > fwk.MAX_NODE_SCORE)
            if len(invalid):
                problem = f"returns an invalid score {weighed[invalid[0]]}, it should in the range of [0, 100]"
                raise fwk.ScoreError(
                    f'applying score defaultWeights on Score plugins: plugin "{name}" {problem} after normalizing'
                )
