"""Kubernetes 1.23 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_24

RELEASE = replace(
    v1_24.RELEASE,
    name="1.23",
    filters_merge=False,
    overhead_not_scored=True,
    spread_rounded=False,
    prefilter_narrows=False,
    postfilter_told=False,
    reworded_no_victims=False,
    failed_preemption_clears=False,
    reworded_taint=False,
    leftovers_wait_long=False,
    hears_any_update=False,
)
