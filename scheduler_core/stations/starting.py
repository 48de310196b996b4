"""Waits on a node: what keeps the kubelet from starting the containers of a pod. Scheduling is done.

Source: pkg/kubelet (images, container, status), pkg/controller/volume/attachdetach.
"""

import re
from typing import NamedTuple

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.stations.surroundings import Surroundings, condition_of
from scheduler_core.stations.times import clock, seconds
from scheduler_core.stations.waits import STARTING, Wait, quoted

BOUND = "bound"
KUBELET, ATTACH_CONTROLLER = "kubelet", "attachdetach-controller"
ONE_NODE = {"ReadWriteOnce", "ReadWriteOncePod"}  # access modes of volumes that one node mounts
IMAGE_REASONS = frozenset(
    {
        *("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"),
        *("RegistryUnavailable", "SignatureValidationFailed"),
    }
)
_NOTHING_YET = frozenset({"", "ContainerCreating", "PodInitializing"})
_SANDBOX = {
    "FailedCreatePodSandBox": "its sandbox cannot be created",
    "FailedMount": "a volume cannot be mounted",
    "FailedAttachVolume": "a volume cannot be attached",
    "FailedPrepareDynamicResources": "its devices cannot be prepared",
}
_ELSEWHERE = "a volume is still attached to another node"
_SUMMARY = "Unable to attach or mount volumes"  # of FailedMount: another event says why
_PULLING = re.compile(r'Pulling image "([^"]+)"')
_INIT = re.compile(r"containers with incomplete status: \[([^\]]*)\]")


def wait_of(pod: Pod, around: Surroundings) -> Wait | None:
    """Return the wait of a pod that has its node; None if it has none, or has started."""
    name = pod.spec.node_name
    if not name or pod.terminated or pod.status.phase not in ("", "Pending"):
        return None
    condition = condition_of(pod)
    at = seconds((condition.last_transition_time if condition is not None else "") or "")
    text, why = f"It was bound to {name}{f' at {clock(at)}' if at else ''}; ", _Why("", since=at)
    entry = around.cluster.nodes.entries.get(name)
    if entry is None or entry.node is None:
        text += "no node of that name exists."
        common = "It was bound to a node that does not exist."
    elif not entry.node.ready:
        text += f"{name} is not ready, so its kubelet does not start the pod."
        common = "Its node is not ready, so its kubelet does not start the pod."
    else:
        why = _why(pod, around, at)
        text += f"the kubelet of {name} has not started it{f': {why.text}' if why.text else ''}."
        reason = why.common or why.text
        common = f"The kubelet of its node has not started it{f': {reason}' if reason else ''}."
    return Wait(STARTING, text, why.says, why.writer, why.since, BOUND, common=common)


class _Why(NamedTuple):
    """What the kubelet waits for, as a clause, facts, who says so, and since when. `common`: the clause without what
    differs between equal pods, "" if nothing does."""

    text: str
    says: list[str] = []
    writer: str = ""
    since: float = 0.0
    common: str = ""


def _why(pod: Pod, around: Surroundings, bound: float) -> _Why:
    """Return what the kubelet waits for."""
    status, writer = pod.status, KUBELET
    images = {container.name: container.image for container in (*pod.spec.init_containers, *pod.spec.containers)}
    for one in (*status.init_container_statuses, *status.container_statuses):
        waiting = one.state.waiting if one.state is not None else None
        if waiting is None or waiting.reason in _NOTHING_YET:
            continue
        says = [f"container {one.name}: {': '.join(filter(None, (waiting.reason, quoted(waiting.message))))}"]
        if waiting.reason in IMAGE_REASONS:
            event = around.events.last("Pod", pod, ("Failed",), KUBELET)
            says += [quoted(event.message)] if event is not None else []
            text = f"image {images.get(one.name, '')} of container {one.name} cannot be pulled"
            return _Why(text, says, writer, bound)
        return _Why(f"container {one.name}: {waiting.reason}", says, writer, bound)
    ready, initialized = condition_of(pod, "PodReadyToStartContainers"), condition_of(pod, "Initialized")
    pulls = around.events.last("Pod", pod, ("Pulling", "Pulled", "Failed"), KUBELET)
    image = _PULLING.match(pulls.message) if pulls is not None and seconds(pulls.time) >= int(bound) else None
    begun = seconds(pulls.time) if pulls is not None and image is not None else 0.0
    # Images are pulled once the sandbox exists and volumes are mounted.
    if begun or ready is None or ready.status == "False":
        events = [
            one
            for one in around.events.about("Pod", pod, _SANDBOX)
            if one.reporter in (KUBELET, ATTACH_CONTROLLER) and seconds(one.time) >= max(int(bound), begun)
        ]
        event = max(events, key=lambda one: (not one.message.startswith(_SUMMARY), seconds(one.time)), default=None)
        elsewhere = _attached_elsewhere(pod, around.cluster)
        if event is not None and (event.reason == "FailedAttachVolume" or not elsewhere):
            says = [f"{event.reason}: {quoted(event.message)}"]
            why = elsewhere or f"{_SANDBOX[event.reason]}: {quoted(event.message)}"
            common = _ELSEWHERE if elsewhere else _SANDBOX[event.reason]
            return _Why(why, says, event.reporter, seconds(event.time), common)
        if image is not None:
            return _Why(f"image {quoted(image[1])} is being pulled", [], writer, begun)
        if elsewhere:
            return _Why(elsewhere, [], "", bound, _ELSEWHERE)
        if ready is not None:
            return _Why("its sandbox, volumes or network are not ready", [], writer, bound)
    if initialized is not None and initialized.status == "False" and pod.spec.init_containers:
        found = _INIT.search(initialized.message)
        names = found[1].split() if found else []
        what = f"init container {names[0]} has not completed" if names else quoted(initialized.message)
        return _Why(what, [quoted(initialized.message)] if initialized.message else [], writer, bound)
    false = next((c for c in status.conditions if c.type == "ContainersReady" and c.status == "False"), None)
    if false is not None and false.message:
        return _Why(quoted(false.message), [], writer, bound)
    return _Why("", since=bound)


def _attached_elsewhere(pod: Pod, cluster: Cluster) -> str:
    """Return the volume of the pod that is still attached to another node, as a clause; "" if there is none."""
    names = [volume.persistent_volume_claim.claim_name for volume in pod.spec.volumes if volume.persistent_volume_claim]
    claims = [claim for name in names if (claim := cluster.claims.get(f"{pod.namespace}/{name}")) is not None]
    exclusive = {one.spec.volume_name for one in claims if set(one.spec.access_modes) <= ONE_NODE}
    for attachment in cluster.attachments.values() if exclusive else ():
        volume, node = attachment.spec.source.persistent_volume_name, attachment.spec.node_name
        if volume in exclusive and node != pod.spec.node_name and attachment.status.attached:
            return f"volume {volume} is still attached to {node}"
    return ""
