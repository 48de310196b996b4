"""Pod groups."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import WORDING, off, on


@dataclass(frozen=True, kw_only=True)
class PodGroupBehaviors:
    pod_groups: bool = off(
        "the pods of a PodGroup are scheduled in one cycle of their group",
        "each pod of a PodGroup has its own cycle",
        "pods of a PodGroup are placed together",
        gate="GenericWorkload",
        kep=4671,
    )
    gang_scheduling: bool = off(
        "the pods of a gang wait for each other",
        "the pods of a gang are placed one by one",
        "a gang that does not fit as a whole stays pending",
        gate="GangScheduling",
        kep=4671,
    )
    group_placements: bool = off(
        "pod groups are tried by topology domain",
        "pod groups are placed without regard to topology domains",
        "pod groups with a topology constraint stay in one domain",
        gate="TopologyAwareWorkloadScheduling",
        kep=5732,
    )
    group_preemption: bool = off(
        "a pod group preempts as a whole",
        "each pod preempts for itself",
        "a group evicts pods only if it then fits as a whole",
        gate="WorkloadAwarePreemption",
        kep=5710,
    )
    groups_are_queued: bool = on(
        "the queue holds pod groups as units: their members are popped, gated and requeued together",
        "the queue holds the members of a pod group individually",
        "a group with a gated pod waits as a whole; groups wait longer after a failure, by the root of their size",
        since="1.37",
        pull=138567,
    )
    placement_feasible: bool = on(
        "after each member, GangScheduling decides whether `minCount` can still be met, and ends the cycle if not",
        "every member of a group is tried, and Permit decides",
        "the messages of members state how many of the group can be scheduled",
        since="1.37",
        pull=138643,
    )
    group_preemption_nominates: bool = on(
        "the members for which a group preempts are nominated",
        "members for which a group preempts are not nominated",
        "freed nodes are kept for the group",
        since="1.37",
        pull=138967,
    )
    group_preemption_keeps_members: bool = on(
        "a group evicts pods so that as many of its members as possible fit",
        "a group evicts pods so that `minCount` of its members fit",
        "more pods are evicted, and more members scheduled",
        since="1.37",
        pull=138757,
    )
    group_preemption_waits: bool = on(
        "a group does not preempt again while victims terminate on nodes that its members are nominated for",
        "a group can preempt again while its victims terminate",
        "fewer pods are evicted",
        since="1.37",
        pull=138710,
    )
    group_preemption_prefixes_messages: bool = on(
        "messages of the preemption of a group begin with `pod group preemption: `",
        "messages of the preemption of a group have no prefix",
        WORDING,
        since="1.37",
        pull=139218,
    )
