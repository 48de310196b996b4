"""START HERE: answers why the pods of a live cluster are pending, and keeps these answers up to date."""

import logging
import math
import time
from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Fix
from scheduler_core.framework import causes as kinds
from scheduler_core.framework.plugin_kinds import kinds_read
from scheduler_core.live import neighbours
from scheduler_core.live.cluster_mirror import ClusterMirror, MirrorChange
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.objects import Event
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.pending_pods.fit import Fit, FitAnalysis
from scheduler_core.pending_pods.fit_answer import answer_of_fit, answer_without_nodes, describe
from scheduler_core.pending_pods.pending_answer import PendingAnswer
from scheduler_core.pending_pods.pod_state import (
    RECENT,
    answer_of,
    answer_of_missing,
    before_the_queue,
    provisioning,
    say_where,
    since,
    untried,
)
from scheduler_core.pending_pods.scheduler_message import reports_of
from scheduler_core.stations.claims import claim_waits
from scheduler_core.stations.creation import CREATORS, missing_pods, missing_pods_of
from scheduler_core.stations.engine import wait_of
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.stations.waits import ADMISSION, AUTOSCALER_REFUSED, GROUP, NODE_COMING
from scheduler_core.suggestions.answers import fixes_for
from scheduler_core.suggestions.group_waits import group_of, may_have_group

logger = logging.getLogger(__name__)

OF_SCHEDULERS = {causes.NO_SCHEDULER, causes.OTHER_SCHEDULER, causes.NOT_TRIED}
SCHEDULERS_EVERY = 30.0  # seconds after which it is checked again whether a scheduler has acted

READS = {
    "DynamicResources": frozenset({"ResourceClaim"}),
    "GangScheduling": frozenset({"PodGroup.scheduling.k8s.io"}),
}
"""PreEnqueue plugin -> kinds without which its result is not known."""
_STORAGE = frozenset(
    {
        *("PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity"),
        "VolumeAttachment",
    }
)
_DEVICES = frozenset({"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceTaintRule"})
_GROUPS = frozenset({"PodGroup", "PodGroup.scheduling.k8s.io"})
_NODES = frozenset({"Node", "Namespace"})
_NEIGHBOURS = frozenset(neighbours.TYPES)
_OF_AUTOSCALERS = frozenset({"NodePool", "NodeClaim", "ConfigMap"})
_OF_KUEUE = frozenset({f"Workload.{neighbours.KUEUE}", "LocalQueue", "ClusterQueue", "AdmissionCheck"})
_AT_NEIGHBOURS = (ADMISSION, GROUP, NODE_COMING, AUTOSCALER_REFUSED)
_OF_WORKLOADS = frozenset({"Pod", "Event", *CREATORS, *_OF_KUEUE})
WORKLOADS_EVERY = 5.0  # seconds
UNKNOWN_PODS = "Nodes look emptier than they are, because only the pods of one namespace can be read:"
RECHECK_EVERY = 2.0  # seconds
FIX_EVERY = 300.0  # seconds after which the fix of a result is searched again
FIX_PAUSE = 1.0  # seconds between two searches while the cluster is followed


class AnswerChanges(NamedTuple):
    """What `PendingAnswers.update` found. `gone`: pods that no longer wait. `outdated`: answers left to check."""

    changed: list[PendingAnswer]
    gone: list[str]
    outdated: int


class _Template:
    """Pending pods that the scheduler cannot tell apart, and their common result.

    `stale`: pods on nodes have changed since. `invalid`: other objects have, that the result depends on.
    """

    def __init__(self, pod: PodInfo, signature: bytes) -> None:
        spec = pod.pod.spec
        self.signature = signature
        self.pods: set[str] = set()
        self.fit: Fit | None = None
        self.stale = self.invalid = True
        self.computed_at = -math.inf  # monotonic seconds
        self.fixes: list[Fix] = []
        self.fix_at = -math.inf  # monotonic seconds of the last search
        self.kinds = set(_NODES)
        self.has_group = bool(group_of(pod))
        if pod.volumes:
            self.kinds |= _STORAGE
        if spec.resource_claims or any("/" in name for name in pod.requests):
            self.kinds |= _DEVICES
        if pod.group or pod.labels:
            self.kinds |= _GROUPS

    def set_fit(self, fit: Fit) -> None:
        """Set the result. The suggested fixes stay if the new one is alike."""
        before, self.fit, self.computed_at = self.fit, fit, time.monotonic()
        self.stale = self.invalid = False
        if before is None or (before.cause, before.answer.sentence) != (fit.cause, fit.answer.sentence):
            self.fixes, self.fix_at = [], -math.inf

    @property
    def current(self) -> bool:
        """Whether the result still holds."""
        return self.fit is not None and not self.invalid and not self.stale


class PendingAnswers:
    """The answers for the pending pods of a mirror.

    Call `note` for each item that the mirror applied, and `update` to bring the answers up to date. Equal pods share
    one computation. `recheck_every`: seconds in which one result is computed at most once because other pods came or
    went. `namespace`: the only one whose pods are known; "" for all. Raises InputError for a configuration that the
    release does not accept.
    """

    def __init__(
        self,
        mirror: ClusterMirror,
        configuration: Configuration,
        refused: Collection[str] = (),
        recheck_every: float = RECHECK_EVERY,
        namespace: str = "",
    ) -> None:
        self.mirror = mirror
        self.recheck_every = recheck_every
        self.namespace = namespace
        self.refused = frozenset(refused)
        self.answers: dict[str, PendingAnswer] = {}
        self.analysis = FitAnalysis(mirror.cluster, mirror.release, configuration)
        self._read_by_plugins = kinds_read(configuration.profiles)
        self._templates: dict[bytes, _Template] = {}
        self._template_of: dict[str, tuple[Pod, _Template]] = {}
        self._check: dict[str, None] = {}  # pods whose answer must be built again, in this order
        self._check_at: dict[str, float] = {}  # pod -> Unix seconds from which its answer may differ
        self._around: Surroundings | None = None
        self._everything, self._prepared = True, False
        self._fix_after = -math.inf  # monotonic seconds
        self._kinds_changed: set[str] = set()
        self._workloads: dict[str, PendingAnswer] = {}  # answers for workloads that lack pods
        self._workloads_changed, self._workloads_at = True, -math.inf

    # ---- one pod

    def answer(self, key: str, now: float, fix: bool = False, tried: bool = False) -> PendingAnswer:
        """Return the answer for a pod (namespace/name). Raises InputError if it does not exist.

        `tried`: answer as if its scheduler had tried it just now.
        """
        pod = self.mirror.store.get("Pod", key)
        if not isinstance(pod, Pod):
            raise InputError(f"Pod {key[:506]}", "", "does not exist")
        self._prepare()
        found = self._answer(pod, now, tried)
        info = self.mirror.pending.get(key)
        if fix and info is not None and found.details.answer is not None and self._takes_fixes(found):
            found.details.answer = replace(found.details.answer, fixes=self._fixes(info))
        return found

    def missing(self, kind: str = "", key: str = "") -> list[PendingAnswer]:
        """Return why a workload lacks pods; without a kind, the answers for all workloads with a known reason."""
        around = self._surroundings()
        found = missing_pods_of(around, kind, key) if kind else missing_pods(around)
        return [answer_of_missing(one) for one in found]

    def _takes_fixes(self, found: PendingAnswer) -> bool:
        """Whether fixes are suggested."""
        answer = found.details.answer
        return answer is not None and not answer.no_fixes and "Node" not in self.refused

    def _prepare(self) -> None:
        """Bring the analysis up to date with the mirror."""
        if not self._prepared:
            self._prepared = True
            self.analysis.set_pending(self.mirror.pending.values())

    def _fixes(self, pod: PodInfo) -> list[Fix]:
        template = self._template(pod)
        if template.fix_at < time.monotonic() - FIX_EVERY:
            (template.fixes,) = fixes_for(self.analysis.simulation, [replace(self._fit(pod).answer, pod=pod.key)])
            template.fix_at = time.monotonic()
        return template.fixes

    # ---- all pods

    def note(self, change: MirrorChange | None) -> None:
        """Note a change of the mirror. None stands for a list of objects or a gap: everything is checked again."""
        self._prepared = False
        self._workloads_changed |= change is None or change.kind in _OF_WORKLOADS
        if change is not None and self._around is not None:
            self._around.forget(change.kind)
        if change is None:
            self._everything, self._around = True, None
        elif isinstance(change.new, Pod) or isinstance(change.old, Pod):
            self._note_pod(change)
        elif change.kind == "Event":
            self._note_event(change)
        elif change.kind in _NEIGHBOURS:
            self._kinds_changed.add(change.kind)
        elif change.matters:
            self._outdate(change.kind)

    def _note_event(self, change: MirrorChange) -> None:
        for event in (change.old, change.new):
            if not isinstance(event, Event):
                continue
            if self._around is not None and event is change.old:
                self._around.events.remove(event)
            elif self._around is not None:
                self._around.events.add(event)
            about = event.involved_object
            if about.kind == "Pod":
                self._check[f"{about.namespace}/{about.name}"] = None

    def _note_pod(self, change: MirrorChange) -> None:
        old, new = change.old, change.new
        self._check[change.key] = None
        if self._around is not None and isinstance(new, Pod):
            self._around.activity.add(new, counted=isinstance(old, Pod) and bool(old.spec.node_name))
        was = isinstance(old, Pod) and (old.spec.node_name, old.status.nominated_node_name)
        is_now = isinstance(new, Pod) and (new.spec.node_name, new.status.nominated_node_name)
        if change.matters and (any(was or ()) or any(is_now or ())):
            self._outdate("Pod")
        if change.matters and any(isinstance(one, Pod) and may_have_group(one) for one in (old, new)):
            for template in self._templates.values():
                template.invalid |= template.has_group

    def _outdate(self, kind: str) -> None:
        self._kinds_changed.add(kind)
        for template in self._templates.values():
            template.stale |= kind == "Pod" or kind in self._read_by_plugins
            template.invalid |= kind in template.kinds

    def _due(self) -> Iterator[str]:
        """Yield the pods whose common result must be computed again."""
        before = time.monotonic() - self.recheck_every
        for template in self._templates.values():
            if not template.current and (template.invalid or template.computed_at <= before):
                yield from template.pods

    def _concerned(self) -> Iterator[str]:
        """Yield the pods with an answer that is not about nodes, but about objects that changed."""
        causes_of_kinds = {
            causes.BOUND: _NODES | _STORAGE,
            **dict.fromkeys((kinds.CLAIM_MISSING, kinds.CLAIM_UNBOUND, causes.PROVISIONING), _STORAGE),
            kinds.POD_GROUP: _GROUPS,
            causes.OTHER_SCHEDULER: _NEIGHBOURS,
        }
        changed, self._kinds_changed = self._kinds_changed, set()
        concerned = {cause for cause, those in causes_of_kinds.items() if those & changed}
        by_neighbours = bool(changed & (_NEIGHBOURS | _NODES))
        for key, answer in self.answers.items() if concerned or by_neighbours else ():
            if answer.cause in concerned or (by_neighbours and answer.details.station in _AT_NEIGHBOURS):
                yield key

    def update(self, now: float, limit: float = 1.0) -> AnswerChanges:
        """Build outdated answers again, for about `limit` seconds. Return those that changed."""
        self._prepare()
        if self._everything:
            self._everything = False
            for template in self._templates.values():
                template.invalid = True
            pods = self.mirror.store.by_key("Pod").items()
            waiting = [key for key, pod in pods if isinstance(pod, Pod) and _is_pending(pod)]
            known = [key for key in self.answers if key not in self._workloads]
            self._check.update(dict.fromkeys([*waiting, *known]))
        self._check.update({key: None for key, at in self._check_at.items() if at <= now})
        self._check.update(dict.fromkeys(self._due()))
        self._check.update(dict.fromkeys(self._concerned()))
        end = time.monotonic() + limit
        changed, gone = list[PendingAnswer](), list[str]()
        for key in sorted(self._check, key=self.answers.__contains__):  # pods without an answer first
            del self._check[key]
            pod = self.mirror.store.get("Pod", key)
            if not isinstance(pod, Pod) or not _is_pending(pod):
                self._forget(key)
                if self.answers.pop(key, None) is not None:
                    gone.append(key)
                continue
            found = self._answer_or_failure(pod, now)
            if found != self.answers.get(key):
                self.answers[key] = found
                changed.append(found)
            if time.monotonic() > end:
                break
        self._update_workloads(changed, gone)
        idle = not self._check and self._fix_after <= time.monotonic() < end
        if idle and "Node" not in self.refused:
            changed += self._search_fix()
            self._fix_after = time.monotonic() + FIX_PAUSE
        return AnswerChanges(list({one.key: one for one in changed}.values()), gone, len(self._check))

    def _search_fix(self) -> Iterator[PendingAnswer]:
        """Search the fixes of one result; yield the answers that get them."""
        for template in self._templates.values():
            keys = [key for key in template.pods if key in self.answers]
            answered = [key for key in keys if self.answers[key].details.answer is not None]
            waiting = [key for key in answered if self._takes_fixes(self.answers[key])]
            info = self.mirror.pending.get(waiting[0]) if waiting else None
            if info is None or template.fix_at > time.monotonic() - FIX_EVERY:
                continue
            before, fixes = template.fixes, self._fixes(info)
            for key in waiting if fixes != before else ():
                pending = self.answers[key]
                assert pending.details.answer is not None
                answer = replace(pending.details.answer, fixes=fixes)
                self.answers[key] = replace(pending, details=replace(pending.details, answer=answer))
                yield self.answers[key]
            return

    def _update_workloads(self, changed: list[PendingAnswer], gone: list[str]) -> None:
        """Find the workloads that lack pods, every few seconds."""
        if not self._workloads_changed or time.monotonic() < self._workloads_at + WORKLOADS_EVERY:
            return
        before = self._workloads
        self._workloads_changed, self._workloads_at = False, time.monotonic()
        now = {one.key: one for one in self.missing()}
        changed += [one for key, one in now.items() if before.get(key) != one]
        gone += before.keys() - now.keys()
        self._workloads = now
        self.answers = {key: one for key, one in self.answers.items() if key not in before} | now

    # ---- building an answer

    def _answer_or_failure(self, pod: Pod, now: float) -> PendingAnswer:
        """Return the answer, or that there is none: one pod must not prevent the answers for all others."""
        try:
            return self._answer(pod, now)
        except Exception as problem:
            logger.exception("Pod %s is not explained", pod.key)
            text = f"KubeSched cannot explain it because of an error of its own ({type(problem).__name__})."
            return answer_of(pod, causes.UNEXPLAINED, text)

    def _answer(self, pod: Pod, now: float, tried: bool = False) -> PendingAnswer:
        around = self._surroundings()
        self._check_at.pop(pod.key, None)
        found = before_the_queue(pod, around)
        if found is None:
            found = self._in_the_queue(pod, now, around, tried)
            wait = wait_of(pod, self.mirror.pending[pod.key], around, found.details.answer)
            say_where(found, pod, wait, around)
        if found.cause == causes.JUST_CREATED:
            self._check_at[pod.key] = since(pod) + RECENT
        elif found.cause in OF_SCHEDULERS:
            self._check_at[pod.key] = now + SCHEDULERS_EVERY
        found.details.limits = self._limits(pod, found)
        found.details.reports = reports_of(pod, around.events) if not pod.spec.node_name else []
        known = self._template_of.get(pod.key)
        if found.details.answer is not None and known is not None and self._takes_fixes(found):
            fixes = known[1].fixes
            found.details.answer = replace(found.details.answer, fixes=fixes)
        return found

    def _in_the_queue(self, pod: Pod, now: float, around: Surroundings, tried: bool) -> PendingAnswer:
        info = self.mirror.pending[pod.key]
        new = None if tried else untried(pod, around, now)
        fit = self._fit(info)
        plugin = fit.answer.cause.plugin if fit.answer.cause is not None else ""
        held = fit.answer.result == "gated" and not READS.get(plugin, frozenset()) & self.refused
        if not held and (fit.answer.result == "gated" or "Node" in self.refused):
            return new or answer_without_nodes(pod)
        if held or fit.cause in (kinds.CLAIM_MISSING, kinds.CLAIM_UNBOUND):
            new = None  # a scheduler reports nothing about such a pod, or what it reports is the same
        claims = claim_waits(info, around) if info.volumes else []
        if new is not None:
            new.sentence += f" {fit.answer.sentence}"
            describe(new, fit)
            return new
        if self.namespace and fit.fits:
            return answer_without_nodes(pod)  # pods of other namespaces may hold what it lacks
        found = (provisioning(info, claims) if fit.fits else None) or answer_of_fit(info, fit, now)
        found.details.claims = claims
        found.details.group = group_of(info) if found.cause == kinds.POD_GROUP else ""
        return found

    def _surroundings(self) -> Surroundings:
        if self._around is None:
            schedulers = frozenset(self.analysis.simulation.scheduler.profiles)
            self._around = Surroundings(self.mirror.store, self.mirror.cluster, schedulers)
        return self._around

    def _fit(self, pod: PodInfo) -> Fit:
        template = self._template(pod)
        fresh = not template.invalid and template.computed_at > time.monotonic() - self.recheck_every
        if not template.current and not (fresh and template.fit is not None):
            template.set_fit(self.analysis.fit(pod, "Node" not in self.refused))
        assert template.fit is not None
        return template.fit

    def _template(self, pod: PodInfo) -> _Template:
        known = self._template_of.get(pod.key)
        if known is None or known[0] is not pod.pod:
            self._forget(pod.key)
            signature = _signature(pod)
            if signature not in self._templates:
                self._templates[signature] = _Template(pod, signature)
            known = self._template_of[pod.key] = pod.pod, self._templates[signature]
            known[1].pods.add(pod.key)
        return known[1]

    def _forget(self, key: str) -> None:
        self._check_at.pop(key, None)
        _, template = self._template_of.pop(key, (None, None))
        if template is not None:
            template.pods.discard(key)
            if not template.pods:
                del self._templates[template.signature]

    def _limits(self, pod: Pod, found: PendingAnswer) -> list[str]:
        """Return what the answer lacks because of refused kinds."""
        wanted = set(_NODES | self._read_by_plugins)
        if any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes):
            wanted |= _STORAGE
        if pod.spec.resource_claims:
            wanted |= _DEVICES
        if pod.spec.scheduling_group is not None:
            wanted |= _GROUPS
        if found.cause in (causes.NO_SCHEDULER, causes.NOT_TRIED, kinds.CLAIM_UNBOUND):
            wanted.add("Event")
        if found.details.station == ADMISSION:
            workload = self._surroundings().kueue_workload(pod)
            wanted |= _OF_KUEUE
            if workload is not None and not workload.status.admission_checks:
                wanted.discard("AdmissionCheck")
        if found.details.station in (NODE_COMING, AUTOSCALER_REFUSED):
            wanted |= _OF_AUTOSCALERS
        limits = [f"{UNKNOWN_PODS} {self.namespace}."] if self.namespace else []
        return [*limits, *(KINDS[kind].consequence for kind in KINDS if kind in self.refused & wanted)]


def _is_pending(pod: Pod) -> bool:
    return not pod.terminated and (not pod.spec.node_name or pod.status.phase in ("", "Pending"))


def _signature(pod: PodInfo) -> bytes:
    """Return a key that is equal for pods that the scheduler cannot tell apart."""
    spec, own = pod.pod.spec, ""
    if spec.resource_claims or any(volume.ephemeral is not None for volume in spec.volumes):
        own = pod.name
    named = pod.nominated_node, pod.priority, pod.terminating, own
    return msgspec.json.encode((pod.namespace, sorted(pod.labels.items()), named, spec))
