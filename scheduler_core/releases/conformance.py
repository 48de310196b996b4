"""What recorded decisions of upstream verify of each release."""

from collections.abc import Mapping
from typing import NamedTuple

from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.differences import differences
from scheduler_core.releases.versions import minor_of

VERIFIED, BY_SOURCES = "verified", "by sources"


class Cases(NamedTuple):
    """Numbers of conformance cases. `in_time`: virtual-time scenarios, and the attempts in them.

    `differ`: the cycles whose result differs from upstream. `in_time_differ`: the attempts, queue moves and ends of
    scenarios that do.
    """

    cases: int = 0
    cycles: int = 0
    in_time: tuple[int, int] = (0, 0)
    differ: int = 0
    in_time_differ: int = 0


CASES: Mapping[str, Cases] = {
    "1.16": Cases(175, 1262),
    "1.17": Cases(204, 1468),
    "1.18": Cases(210, 1498),
    "1.19": Cases(210, 1546),
    "1.20": Cases(208, 1503),
    "1.21": Cases(210, 1572),
    "1.22": Cases(210, 1548, (90, 1414)),
    "1.23": Cases(210, 1551),
    "1.24": Cases(210, 1522, (90, 1180)),
    "1.25": Cases(210, 1516),
    "1.26": Cases(210, 1501),
    "1.27": Cases(240, 1747, (128, 1759)),
    "1.28": Cases(210, 1487),
    "1.29": Cases(210, 1574),
    "1.30": Cases(208, 1603),
    "1.31": Cases(210, 1513, (96, 1321)),
    "1.32": Cases(210, 1570),
    "1.33": Cases(210, 1543),
    "1.34": Cases(239, 1769, (128, 2176)),
    "1.35": Cases(210, 1559),
    "1.36": Cases(210, 1522),
    "1.37": Cases(210, 1525),
}
"""Held against tests/golden by a test."""


RECORDED_WITH: Mapping[str, str] = {"1.37": "1.37.0-alpha.2 with the feature gates of 1.37.0"}
"""Release -> what decided its cases, if it is not the patch release that stands for the release."""


def is_verified(release: str, in_time: bool = False) -> bool:
    """Return whether there are recorded cases of a release and all of them agree. `in_time`: of virtual time.

    A patch release is verified if it behaves as the one that the cases come from.
    """
    number = release.partition(" ")[0]
    cases = CASES.get(minor_of(number), Cases())
    if not (cases.in_time[0] and not cases.in_time_differ if in_time else cases.cases and not cases.differ):
        return False
    return number in CASES or not differences(get_release(number), RELEASES[minor_of(number)])


def state(release: str, in_time: bool = False) -> str:
    """Return "verified" or "by sources"."""
    return VERIFIED if is_verified(release, in_time) else BY_SOURCES


def verification(release: str, in_time: bool = False) -> str:
    """Return the state with the patch release that the cases come from: "verified as 1.34.1" or "by sources"."""
    if not is_verified(release, in_time):
        return BY_SOURCES
    minor = minor_of(release.partition(" ")[0])
    return f"{VERIFIED} as {RECORDED_WITH.get(minor, RELEASES[minor].patch_version)}"


UNNOTICED: Mapping[str, str] = {
    "1.19 own_terms_ignore_nominated_pods": "no pod's terms match a nominated pod",
    "1.19 preemption_is_plugin": "only the plugins that a configuration may name change",
    "1.19 honors_disrupted_pods": "no victim is among the disruptedPods of its budget",
    "1.19 preempts_again_if_nominated_node_unresolvable": "no pod is retried after its nominated node became unusable",
    "1.20 preemption_samples_nodes": "no pod preempts with more than 100 candidates",
    "1.23 missing_volume_reason_reworded": "no claim names a missing volume",
    "1.24 override_repeats_score_plugins": "no profile enables three Score plugins of multiPoint again",
    "1.26 repeated_scores_weighted_again": "no profile enables three Score plugins of multiPoint again",
    "1.26 waits_only_for_preempted_pods": "on nominated nodes, no pod terminates for another reason than preemption",
    "1.26 unresolvable_prefilter_preempts": "no pod that PreFilter rejects may preempt",
    "1.28 unresolvable_prefilter_preempts": "no pod that PreFilter rejects may preempt",
    "1.27 local_volumes_prefilter_nodes": "no pending pod up to 1.29 has a claim that is bound to a local volume",
    "1.27 skipped_scores_crash": "no profile enables fewer Score plugins than are skipped",
    "1.28 attempts_forget_rejections": "no pod fails with an error after a rejection",
    "1.28 rejects_sidecars": "no pod of 1.28 has a sidecar",
    "1.29 skipped_scores_crash": "no profile enables fewer Score plugins than are skipped",
    "1.29 override_repeats_score_plugins": "no profile enables three Score plugins of multiPoint again",
    "1.29 victims_of_other_qos_stay": "no scenario was recorded with 1.29 or 1.30",
    "1.30 prefilter_continues_after_rejection": "no plugin returns Unschedulable in PreFilter",
    "1.30 extender_rejections_requeue": "no scenario was recorded with 1.29 or 1.30",
    "1.31 absent_nodes_unresolvable": "no pod preempts that a node's name or a local volume keeps off other nodes",
    "1.31 victims_of_other_qos_stay": "no scenario was recorded with 1.29 or 1.30",
    "1.31 affinity_label_keys": "no affinity term has matchLabelKeys",
    "1.31 portworx_migration": "no case has Portworx volumes",
    "1.32 attach_limits_from_allocatable": "no CSI volume is limited by a node's allocatable alone",
    "1.32 missing_claim_rejects": "VolumeBinding rejects such pods first",
    "1.33 preempts_asynchronously": "the cases were recorded without SchedulerAsyncPreemption",
    "1.33 queueing_hint_volume_limits": "no limit is raised and no volume is detached while a pod waits",
    "1.33 status_without_request_crashes": "no container has a request in its status alone",
    "1.34 skips_terminating_victims": "no scenario has grace periods",
    "1.34 status_without_request_crashes": "no container has a request in its status alone",
    "1.34 sidecar_ports": "no sidecar has a host port",
    "1.34 pod_level_resources": "no pod has spec.resources",
    "1.34 volume_attributes_class": "no case has volume attributes classes",
    "1.35 reports_invalid_pools": "no pod is rejected on a node with an invalid pool",
    "1.35 mixed_claims_score_fails": "no pod of 1.35 has both allocated and unallocated claims",
    "1.36 mixed_claims_score_fails": "no pod of 1.35 has both allocated and unallocated claims",
    "1.36 all_devices_with_counters_crash": "no request for all devices gets one that consumes counters",
    "1.36 shared_devices_leave_counters": "no shared device consumes counters",
    "1.36 binding_conditions": "no device has binding conditions",
    "1.37 nominated_pods_bypass_batching": "no nominated pod is tried right after a pod with the same signature",
    "1.37 group_preemption_waits": "no group is tried again while its victims terminate",
    "1.37 queueing_hint_any_anti_affinity": "no deleted pod matches only some anti-affinity terms of a waiting pod",
    "1.37 gated_pods_hold_nominations": "no new pod is both gated and nominated",
    "1.37 counters_of_pool_everywhere": "no node sees the counters of a pool without a device of it",
    "1.37 fractional_capacity_ranges": "1.37.0-alpha.2 lacks them",
}
"""Release and behaviour that no recorded case decides differently with and without -> why.
`scripts/try_switches.py` tries all behaviours."""
