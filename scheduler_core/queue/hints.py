"""Queueing hints: which cluster events requeue which pods, as the plugins of each profile registered.

Source: pkg/scheduler/scheduler.go (buildQueueingHintMap), pkg/scheduler/backend/queue (isPodWorthRequeuing).
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework.events import ClusterEvent, EventHint, Hint
from scheduler_core.framework.interface import EXTENDER, Plugin
from scheduler_core.framework.runtime import Framework
from scheduler_core.queue.queued_pod import QueuedPod
from scheduler_core.releases import Release
from scheduler_core.releases.versions import numbered

# Until 1.21 the event handlers list the events that requeue all pods. Other events requeue none.
_ANY = (
    ClusterEvent(events.NODE, events.ADD | events.UPDATE),
    ClusterEvent(events.ASSIGNED_POD, events.ALL),
    ClusterEvent("CSINode", events.ADD | events.UPDATE),
    ClusterEvent("PersistentVolume", events.ADD | events.UPDATE),
    ClusterEvent("PersistentVolumeClaim", events.ADD | events.UPDATE),
    ClusterEvent("Service", events.ALL),
    ClusterEvent("StorageClass", events.ADD),
)

_HINTS_SINCE = {
    "NodePorts": "1.29",
    **dict.fromkeys(("NodeAffinity", "NodeResourcesFit", "NodeUnschedulable", "PodTopologySpread"), "1.30"),
    **dict.fromkeys(("InterPodAffinity", "NodeVolumeLimits", "SchedulingGates", "TaintToleration"), "1.31"),
    **dict.fromkeys(("VolumeBinding", "VolumeRestrictions", "VolumeZone"), "1.31"),
}
"""Plugin -> the first release in which its hints exist. Without them every registered event requeues a pod."""


class QueueingStrategy(IntEnum):
    """Where to move a pending pod after an event."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Hints:
    """The registered events of all profiles.

    In releases without hints every registered event requeues. Until 1.21 plugins register no events; a fixed list of
    events requeues all pods.
    """

    def __init__(self, profiles: Mapping[str, Framework], release: Release) -> None:
        self._release = release
        self._use_hints = release.queueing_hints
        self._registered: dict[str, dict[str, list[EventHint]]] = {name: {} for name in profiles}
        for name, framework in profiles.items() if not release.every_event_requeues else ():
            self._registered[name].update({plugin.name: self._of(plugin) for plugin in _rejecting(framework)})
            if framework.extenders:  # they register no events, so any event may help
                self._registered[name][EXTENDER] = [EventHint(events.EVERYTHING)]
        self._matching: dict[tuple[str, ClusterEvent], dict[str, list[Hint | None]]] = {}

    def _of(self, plugin: Plugin) -> list[EventHint]:
        registered = list(plugin.events_to_register())
        if numbered(self._release.number) < numbered(_HINTS_SINCE.get(plugin.name, "1.28")):
            registered = [EventHint(entry.event) for entry in registered]
        node_actions = [entry.event.action for entry in registered if entry.event.resource == events.NODE]
        if any(action & events.ADD for action in node_actions):
            # Upstream does not rely on its own pre-check of new nodes: a plugin that registers node additions also gets
            # taint updates (kubernetes/kubernetes#109437). Before hints, most plugins register every node update.
            precise = {"always"} if self._release.queueing_hint_any_node_update else {"always", "once"}
            if not self._use_hints and plugin.precise_node_updates not in precise:
                registered.append(events.registered(events.NODE, events.UPDATE))
            elif self._release.queueing_hint_node_taints:
                registered.append(events.registered(events.NODE, events.UPDATE_NODE_TAINT))
        return registered

    def _hints(self, profile: str, event: ClusterEvent) -> dict[str, list[Hint | None]]:
        """Return plugin -> the hints of its registrations that cover the event (None: it always requeues)."""
        key = (profile, event)
        found = self._matching.get(key)
        if found is None:
            found = self._matching[key] = {
                name: hints
                for name, registered in self._registered[profile].items()
                if (hints := [entry.hint for entry in registered if entry.event.covers(event)])
            }
        return found

    def of_interest(self, event: ClusterEvent) -> bool:
        """Whether any plugin registered the event."""
        if self._release.every_event_requeues:
            return any(entry.covers(event) for entry in _ANY)
        return event.is_wildcard or any(self._hints(profile, event) for profile in self._registered)

    def concerns(self, pod: QueuedPod, plugin: str, event: ClusterEvent) -> bool:
        """Whether a plugin registered the event."""
        return not event.is_wildcard and plugin in self._hints(pod.info.pod.spec.scheduler_name, event)

    def registered_by(self, profile: str, event: ClusterEvent) -> set[str]:
        """Return the plugins of a profile that registered the event."""
        return set(self._hints(profile, event)) if profile in self._registered else set()

    def worth(self, pod: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> QueueingStrategy:
        """Return where the event moves the pod. Only the hints of plugins that rejected the pod count."""
        rejectors = pod.rejectors
        if not rejectors or self._release.every_event_requeues:
            return QueueingStrategy.AFTER_BACKOFF
        if event.is_wildcard:
            # A wildcard event with a pod applies to that pod only.
            other = isinstance(new, PodInfo) and new.key != pod.key
            return QueueingStrategy.SKIP if other else QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.SKIP
        for plugin, hints in self._hints(pod.info.pod.spec.scheduler_name, event).items():
            if plugin not in rejectors:
                continue
            if not self._use_hints or any(hint is None or hint(pod.info, old, new) for hint in hints):
                if plugin in pod.pending_plugins:
                    return QueueingStrategy.IMMEDIATELY
                strategy = QueueingStrategy.AFTER_BACKOFF
                if not pod.pending_plugins:
                    break
        return strategy


def _rejecting(framework: Framework) -> list[Plugin]:
    """Return the plugins that may reject a pod."""
    before_filter = (*framework.pre_enqueue, *framework.pre_filter)
    plugins = (*before_filter, *framework.filter, *framework.reserve, *framework.permit)
    return list({plugin.name: plugin for plugin in plugins}.values())
