"""The NUMA zones of a node in a scenario, and at a timepoint of a run."""

from collections.abc import Iterable
from typing import Any

from kubesched_ui.models import Run, Scenario
from kubesched_ui.queries.recording_cache import object_at
from kubesched_ui.queries.remedies import configuration_of
from scheduler_core.api.objects import Node, Pod, decode
from scheduler_core.api.scheduler_plugins import NodeResourceTopology
from scheduler_core.errors import InputError
from scheduler_core.explain.node_zones import NodeZones, zones_of_node
from scheduler_core.plugins.contrib.node_resource_topology_match import NodeResourceTopologyMatch

KIND = "NodeResourceTopology"


def of_scenario(scenario: Scenario, name: str, key: str) -> NodeZones | None:
    """Return the zones of a node, with a pod (namespace/name) if it exists; None if its zones are not known."""
    if not scenario.counts.get(KIND):
        return None
    namespace, _, pod = key.partition("/")

    def raw(kind: str, in_namespace: str, named: str) -> dict[str, Any] | None:
        rows = scenario.cluster_objects.filter(kind=kind, name=named)
        found = (rows.filter(namespace=in_namespace) if in_namespace else rows).first()
        return found.data if found is not None else None

    return _zones(raw(KIND, "", name), raw("Node", "", name), raw("Pod", namespace, pod) if pod else None, ())


def of_run(run: Run, name: str, moment: int, key: str, placed: Iterable[str]) -> NodeZones | None:
    """Return the zones of a node at a timepoint, with a pod (namespace/name) if it exists then.

    `placed`: the pods that the run has placed on the node; they are subtracted if the plugin has a cache. Raises
    NotRecorded, InputError.
    """
    topology = object_at(run, KIND, name, moment) if run.in_time or run.scenario.counts.get(KIND) else None
    if topology is None:
        return None
    args = [profile.args.get(NodeResourceTopologyMatch.name) for profile in configuration_of(run).profiles]
    subtracts = any(one and one.cache_resync_period_seconds > 0 and not one.discard_reserved_nodes for one in args)
    assumed = [object_at(run, "Pod", one, moment) for one in placed] if subtracts else []
    pod = object_at(run, "Pod", key, moment) if key else None
    return _zones(topology, object_at(run, "Node", name, moment), pod, filter(None, assumed))


def _zones(
    topology: dict[str, Any] | None,
    node: dict[str, Any] | None,
    pod: dict[str, Any] | None,
    assumed: Iterable[dict[str, Any]],
) -> NodeZones | None:
    try:
        decoded = [decode(raw) if raw is not None else None for raw in (topology, node, pod)]
        pods = [one for one in map(decode, assumed) if isinstance(one, Pod)]
    except InputError:  # a run reports the invalid object
        return None
    if not isinstance(decoded[0], NodeResourceTopology) or not isinstance(decoded[1], Node):
        return None
    return zones_of_node(decoded[0], decoded[1], decoded[2] if isinstance(decoded[2], Pod) else None, pods)
