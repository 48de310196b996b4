"""What counts on a node: requests of pods, and zones."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import off, on


@dataclass(frozen=True, kw_only=True)
class ClusterBehaviors:
    pod_overhead: bool = on(
        "a pod's overhead is added to its requests",
        "a pod's overhead is ignored",
        "pods of runtime classes with overhead request more; some no longer fit",
        since="1.18",
        gate="PodOverhead",
        kep=688,
    )
    node_requests_include_init_containers: bool = on(
        "init containers count in the requests of the pods on a node",
        "init containers of the pods on a node are ignored",
        "nodes that run pods with init containers have less free; some pods no longer fit",
        since="1.17",
    )
    sidecar_containers: bool = on(
        "requests of sidecars (restartable init containers) are added",
        "a sidecar is treated as an init container: only the largest one counts",
        "pods with sidecars request more; some no longer fit, and nodes that run them have less free",
        since="1.28",
        kep=753,
    )
    rejects_sidecars: bool = off(
        "NodeResourcesFit rejects pods with sidecars",
        "pods with sidecars are scheduled",
        "pods with sidecars that were pending are scheduled",
        since="1.28",
        until="1.28",
        gate="SidecarContainers",
    )
    scoring_requests_include_sidecars: bool = on(
        "scoring adds the default requests of sidecars of the pods on a node",
        "scoring ignores sidecars without requests",
        "nodes that run pods with sidecars score lower with LeastAllocated",
        since="1.32",
    )
    sidecar_ports: bool = on(
        "host ports of sidecars count",
        "host ports of sidecars are ignored",
        "two pods whose sidecars use the same host port no longer share a node",
        since="1.33.6, 1.34",
        pull=132040,
        picks=(133390,),
    )
    pod_level_resources: bool = on(
        "requests of the whole pod (spec.resources) count",
        "spec.resources of a pod is ignored",
        "pods with spec.resources are scheduled by it instead of by their containers",
        since="1.34",
        gate="PodLevelResources",
        kep=2837,
    )
    in_place_resize: bool = on(
        "container statuses count in requests",
        "only the spec of a container counts",
        "during a resize the larger of desired and allocated requests counts",
        since="1.33",
        gate="InPlacePodVerticalScaling",
        kep=1287,
    )
    status_without_request_crashes: bool = off(
        "kube-scheduler crashes if a container has a request in its status but none in its spec",
        "a request in the status of a container counts without one in its spec",
        "clusters in which such a container runs have a scheduler again",
        since="1.33",
        until="1.33.3",
        picks=(133285,),
    )
    overhead_cores_as_millicores: bool = off(
        "scoring counts a core of the pod's overhead as one millicore",
        "scoring counts overhead as it counts requests",
        "nodes with pods of runtime classes with cpu overhead score as fuller",
        until="1.26",
    )
    fit_score_ignores_overhead: bool = off(
        "NodeResourcesFit ignores the overhead of pods when scoring",
        "NodeResourcesFit counts overhead when scoring",
        "nodes with pods of runtime classes with overhead score as fuller",
        since="1.22",
        until="1.23",
    )
    stable_zone_labels: bool = on(
        "topology.kubernetes.io/zone and region are zone labels",
        "only failure-domain.beta.kubernetes.io/zone and region are zone labels",
        "nodes that have only the stable labels get a zone",
        since="1.17",
        kep=1659,
    )
