"""Kubernetes 1.25 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_26

RELEASE = replace(
    v1_26.RELEASE,
    name="1.25",
    waits_for_preempted_alone=False,
    filters_merge=True,
    postfilter_stop="",
    prefilter_counted=True,
)
