"""API server of a run in virtual time: stores objects and delivers every change to its watchers.

Each write is delivered immediately, first to the scheduler's event handlers, then to the controllers.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler_core.api.duration import DURATION_ANNOTATION, seconds
from scheduler_core.api.objects import Condition, Node, Object, PersistentVolumeClaim, Pod, PriorityClass
from scheduler_core.cluster.cache_states import Lifecycle
from scheduler_core.cluster.change_log import GONE, POD
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.qos import qos_class
from scheduler_core.controllers import device_claims
from scheduler_core.controllers.admission import Admission
from scheduler_core.controllers.controller import Controller, Loop
from scheduler_core.controllers.node_lifecycle import is_unreachable
from scheduler_core.errors import InputError
from scheduler_core.virtual_time.event_handlers import EventHandlers
from scheduler_core.virtual_time.object_diff_text import changes

DEFAULT_GRACE_SECONDS = 30


@dataclass(eq=False)
class ApiServer:
    """Simulated API server. `pods`: all existing pods; a bound pod has its node. `admission`: None accepts every object
    unchanged. `graceful`: whether running pods that are deleted terminate after their grace period."""

    loop: Loop
    cluster: Cluster
    lifecycle: Lifecycle
    handlers: EventHandlers
    admission: Admission | None = None
    graceful: bool = False
    controllers: Sequence[Controller] = ()
    # called with the key of an assumed, not yet bound pod that is deleted
    abandon: Callable[[str], None] = lambda key: None

    def __post_init__(self) -> None:
        self.pods: dict[str, PodInfo] = dict(self.cluster.pods)
        self._births = dict.fromkeys(self.pods, 0)
        self._born = 0
        # node -> deletions that its kubelet will confirm when it is reachable again: (pod, birth, reason)
        self._unconfirmed: dict[str, list[tuple[str, int, str]]] = {}

    def begin(self, pending: Sequence[PodInfo]) -> None:
        """Start the run: deliver the existing objects to the controllers and add the pending pods to the queue."""
        for pod in list(self.pods.values()):
            self._started(pod)
        for node in list(self.cluster.nodes.nodes):
            self._notify_node(None, node)
        for pod in list(self.pods.values()):
            self._notify_pod(None, pod)
        for pod in pending:
            self.appear(pod)

    # ---- create

    def create(self, obj: Object) -> None:
        """Create an object; leave an existing one unchanged. A rejection by admission is recorded as a warning."""
        if isinstance(obj, Pod):
            if obj.key not in self.pods and not obj.terminated and self._admitted(obj, None):
                for claim in device_claims.make(obj, self.cluster.claim_templates, self.cluster.device_claims):
                    self.create(claim)
                self.appear(PodInfo(obj, self.cluster.release))
            return
        if self.cluster.find(obj) is not None or not self._admitted(obj, None):
            return
        with self._note_change("created", obj):
            self.handlers.add(obj)
            self._notify_node(None, obj)

    def appear(self, pod: PodInfo) -> None:
        """Add a pod. A pod with `spec.nodeName` runs on that node immediately."""
        node = pod.pod.spec.node_name
        self.pods[pod.key] = pod
        self._born += 1
        self._births[pod.key] = self._born
        pod.node = ""
        owner = next((f"{o.kind} {o.name}" for o in pod.pod.metadata.owner_references if o.controller), "")
        with self._because("pod.created", pod=pod.key, node=node, owner=owner):
            self.cluster.journal.note(POD, pod)
            self.handlers.add_pod(pod, node)
            if node:
                self._started(pod)
            self._notify_pod(None, pod)

    def _admitted(self, obj: Object, old: Object | None) -> bool:
        if self.admission is None:
            return True
        try:
            if isinstance(obj, Pod):
                self.admission.admit(obj, old if isinstance(old, Pod) else None)
            elif isinstance(obj, PersistentVolumeClaim):
                self.admission.admit_claim(obj)
            elif isinstance(obj, PriorityClass):
                self.admission.check_class(obj, old if isinstance(old, PriorityClass) else None)
        except InputError as refusal:
            self.loop.record("warning", message=str(refusal))
            return False
        return True

    # ---- update

    def update(self, obj: Object) -> None:
        """Replace an existing object. A pod keeps its uid, creation time, node and status."""
        if isinstance(obj, Pod):
            old = self.pods.get(obj.key)
            if old is not None:
                obj.metadata.uid, obj.metadata.creation_timestamp = (
                    old.pod.metadata.uid,
                    old.pod.metadata.creation_timestamp,
                )
                obj.metadata.deletion_timestamp = old.pod.metadata.deletion_timestamp
                obj.spec.node_name, obj.status = old.pod.spec.node_name, old.pod.status
                if self._admitted(obj, old.pod):
                    self._replace(old, PodInfo(obj, self.cluster.release))
            return
        old_object = self.cluster.find(obj)
        if old_object is None or not self._admitted(obj, old_object):
            return
        with self._note_change("updated", obj, old_object):
            self.handlers.update(old_object, obj)
            self._notify_node(old_object, obj)

    def _replace(self, old: PodInfo, new: PodInfo) -> None:
        new.nominated_node, new.start_time = old.nominated_node, abs(old.start_time)
        assumed = self.lifecycle.is_assumed(new.key)
        new.node = "" if assumed else old.node
        self.pods[new.key] = new
        with self._because("pod.updated", pod=new.key, what=changes(old.pod, new.pod)):
            self.cluster.journal.note(POD, new)
            self.handlers.update_pod(old, new)
            self._notify_pod(old, new)

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Set status.nominatedNodeName."""
        if pod.nominated_node != node and self.pods.get(pod.key) is pod:
            old = copy.copy(pod)
            pod.nominated_node = node
            with self._because("pod.nominated", pod=pod.key, node=node):
                self.handlers.update_pod(old, pod)

    def bind(self, pod: PodInfo) -> None:
        """Write the binding of an assumed pod; it runs from now on."""
        pod.start_time = self.loop.clock.unix
        if not self.cluster.release.binding_updates_status:
            pod.start_time = -pod.start_time  # unknown to the scheduler until the next update
        self.cluster.nodes.started(pod)
        with self._because("pod.bound", pod=pod.key, node=pod.node):
            self.handlers.bound(pod)
            self._started(pod)
            self._notify_pod(pod, pod)

    def _started(self, pod: PodInfo) -> None:
        text = pod.pod.metadata.annotations.get(DURATION_ANNOTATION)
        if not text:
            return
        try:
            after = seconds(text)
        except ValueError as problem:
            self.loop.record(
                "warning", message=f"Pod {pod.key}: metadata.annotations: {DURATION_ANNOTATION}: {problem}"
            )
            return
        with self.loop.caused(0):  # the start of the pod is not the cause of its end
            self._when_alive(pod, after, lambda now: self.remove(now, "finished", finished=True))

    # ---- delete

    def delete(self, obj: Object) -> None:
        """Delete an object if it exists."""
        if isinstance(obj, Pod):
            pod = self.pods.get(obj.key)
            if pod is not None:
                self.end(pod, "deleted")
            return
        stored = self.cluster.find(obj)
        if stored is None:
            return
        with self._note_change("deleted", stored):
            self.handlers.delete(stored)
            self._notify_node(stored, None)

    def evict(self, pod: PodInfo, reason: str, by: str = "", condition: Condition | None = None) -> None:
        """Evict a pod because of preemption, a taint or a drain. `by`: the pod for which it is evicted."""
        if self.pods.get(pod.key) is not pod or pod.terminating:
            return
        with self._because("pod.evicted", pod=pod.key, node=pod.node, reason=reason, by=by):
            preemptor = self.pods.get(by) if self.cluster.release.victims_of_other_qos_stay else None
            stays = preemptor is not None and qos_class(pod.pod) != qos_class(preemptor.pod)
            self.end(pod, reason, condition, stays)

    def add_condition(self, pod: PodInfo, condition: Condition) -> None:
        """Add a condition to a pod, in place of another one of its type."""
        stored = pod.pod
        conditions = [*(one for one in stored.status.conditions if one.type != condition.type), condition]
        if conditions != stored.status.conditions:
            status = msgspec.structs.replace(stored.status, conditions=conditions)
            self._replace(pod, PodInfo(msgspec.structs.replace(stored, status=status), self.cluster.release))

    def end(self, pod: PodInfo, reason: str, condition: Condition | None = None, stays: bool = False) -> None:
        """Delete a pod, after its grace period if it runs. `stays`: whether its kubelet cannot confirm the deletion,
        because the scheduler gave it the quality-of-service class of the preempting pod."""
        grace = pod.pod.spec.termination_grace_period_seconds
        grace = DEFAULT_GRACE_SECONDS if grace is None else grace
        if not self.graceful or not grace or not pod.node or self.lifecycle.is_assumed(pod.key):
            self.remove(pod, reason)
            return
        if pod.terminating:
            return
        stored = pod.pod
        dying = msgspec.structs.replace(
            stored,
            metadata=msgspec.structs.replace(stored.metadata, deletion_timestamp=self.loop.clock.timestamp(grace)),
            status=msgspec.structs.replace(
                stored.status, conditions=[*stored.status.conditions, *([condition] if condition else [])]
            ),
        )
        self._replace(pod, PodInfo(dying, self.cluster.release))
        if stays:
            text = "its quality-of-service class was replaced by that of the preempting pod, so its kubelet cannot"
            self.loop.record("warning", message=f"Pod {pod.key} stays terminating: {text} update its status")
        else:
            self._when_alive(pod, float(grace), lambda now: self._confirm(now, reason))

    def _confirm(self, pod: PodInfo, reason: str) -> None:
        """Remove a pod whose grace period is over. An unreachable kubelet confirms nothing: the pod stays."""
        entry = self.cluster.nodes.entries.get(pod.node)
        if entry is not None and is_unreachable(entry.node):
            self._unconfirmed.setdefault(pod.node, []).append((pod.key, self._births[pod.key], reason))
        else:
            self.remove(pod, reason)

    def _reachable(self, node: Node) -> None:
        """Remove the pods that the kubelet of the node could not confirm to be gone."""
        for key, birth, reason in self._unconfirmed.pop(node.name, ()):
            if self._births.get(key) == birth:
                self.remove(self.pods[key], reason)

    def _when_alive(self, pod: PodInfo, after: float, action: Callable[[PodInfo], None]) -> None:
        """Call `action` after that many seconds, if the pod (not another one of the same name) still exists then."""
        key, birth = pod.key, self._births[pod.key]

        def later() -> None:
            if self._births.get(key) == birth:
                action(self.pods[key])

        self.loop.at(self.loop.clock.now + after, later)

    def remove(self, pod: PodInfo, reason: str, finished: bool = False) -> None:
        """Remove a pod from the store and deliver its deletion."""
        del self.pods[pod.key], self._births[pod.key]
        assumed = self.lifecycle.is_assumed(pod.key)
        with self._because("pod.deleted", pod=pod.key, node="" if assumed else pod.node, reason=reason):
            self.cluster.journal.note(GONE, pod.key)
            self.handlers.delete_pod(pod)
            if assumed:
                self.abandon(pod.key)
            for controller in self.controllers:
                controller.pod_gone(pod, finished)
            for claim, left in list(device_claims.release_claims(pod, self.cluster.device_claims)):
                if left is None:
                    self.delete(claim)
                else:
                    self.update(left)

    # ---- delivery

    def _notify_pod(self, old: PodInfo | None, new: PodInfo) -> None:
        for controller in self.controllers:
            controller.pod_changed(old, new)

    def _notify_node(self, old: Object | None, new: Object | None) -> None:
        """Deliver the change to the controllers if it is one of a node."""
        before, after = (obj if isinstance(obj, Node) else None for obj in (old, new))
        if before or after:
            for controller in self.controllers:
                controller.node_changed(before, after)
            if after is not None and after.name in self._unconfirmed and not is_unreachable(after):
                self._reachable(after)

    def _note_change(self, how: str, obj: Object, old: Object | None = None) -> Any:
        if isinstance(obj, Node):
            what = changes(old, obj) if old is not None else []
            return self._because("node.changed", node=obj.name, change=how, what=what)
        return self._because("object.changed", object=f"{type(obj).__name__} {obj.key}", change=how)

    def _because(self, kind: str, **data: Any) -> Any:
        """Record an event and return a context in which it is the cause of what happens."""
        return self.loop.caused(self.loop.record(kind, **data))
