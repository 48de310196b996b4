"""Admission: the changes of the API server to a pod before it is stored, as far as they affect scheduling.

Priority: sets the priority and the preemption policy from the pod's PriorityClass; later they do not change.
DefaultTolerationSeconds: pods tolerate a not-ready or unreachable node for five minutes unless they specify otherwise.
DefaultStorageClass: sets the default class of a claim without a class.

Source: plugin/pkg/admission/priority, plugin/pkg/admission/defaulttolerationseconds,
plugin/pkg/admission/storage/storageclass/setdefault, pkg/apis/scheduling (validation, helpers).
"""

from collections.abc import Iterable, Mapping

from scheduler_core.api.objects import PersistentVolumeClaim, Pod, PriorityClass, StorageClass, Toleration
from scheduler_core.errors import InputError

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
SYSTEM_PREFIX = "system-"
PREEMPT_LOWER = "PreemptLowerPriority"

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
DEFAULT_TOLERATION_SECONDS = 300

_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def default_storage_class(classes: Mapping[str, StorageClass]) -> StorageClass | None:
    """Return the class for claims without one; among several, the newest, then the first by name."""
    marked = [c for c in classes.values() if any(c.metadata.annotations.get(key) == "true" for key in _IS_DEFAULT)]
    marked.sort(key=lambda c: c.name)
    return max(marked, key=lambda c: c.metadata.creation_timestamp, default=None)


class Admission:
    """Admission with `classes` and `storage_classes`: the current PriorityClasses and StorageClasses by name."""

    def __init__(
        self, classes: Mapping[str, PriorityClass], storage_classes: Mapping[str, StorageClass] | None = None
    ) -> None:
        self._classes = classes
        self._storage_classes = {} if storage_classes is None else storage_classes

    def admit(self, pod: Pod, old: Pod | None = None) -> None:
        """Set missing fields in place. `old`: the stored pod, for an update. Raises InputError to refuse the pod."""
        if old is not None:
            self._keep_priority(pod, old)
            return
        self._set_priority(pod)
        self._tolerate(pod)

    def admit_claim(self, claim: PersistentVolumeClaim) -> bool:
        """Set the default storage class of a claim without one, in place. Return whether the claim changed."""
        chosen = default_storage_class(self._storage_classes) if claim.spec.storage_class_name is None else None
        if chosen is None:
            return False
        claim.spec.storage_class_name = chosen.name
        return True

    def admit_loosely(self, pod: Pod, new: bool) -> str:
        """Set missing fields of a pod that existed before the run; keep what it specifies.

        `new`: the pod was never stored by an API server, so it gets the default class and tolerations. Returns the
        class of its priority, "" for none. Raises InputError for a class that does not exist.
        """
        spec = pod.spec
        if new:
            self._tolerate(pod)
        if spec.priority is not None:
            known = self._classes.get(spec.priority_class_name)
            spec.preemption_policy = spec.preemption_policy or (known.preemption_policy if known is not None else "")
            return ""
        if not spec.priority_class_name and not new:
            return ""
        policy = spec.preemption_policy
        spec.priority, wanted = self._wanted(pod, f"Pod {pod.key}")
        spec.preemption_policy = policy or wanted
        return spec.priority_class_name

    # ---- priority

    def _set_priority(self, pod: Pod) -> None:
        where, spec = f"Pod {pod.key}", pod.spec
        value, policy = self._wanted(pod, where)
        for field, what, given, computed in (
            ("spec.priority", "integer value of priority", spec.priority, value),
            ("spec.preemptionPolicy", "string value of PreemptionPolicy", spec.preemption_policy or None, policy),
        ):
            if given is not None and given != computed:
                problem = f"the {what} ({given}) must not be provided in pod spec; priority admission controller "
                problem += f"computed {computed} from the given PriorityClass name"
                raise InputError(where, field, problem)
        spec.priority, spec.preemption_policy = value, policy

    def _wanted(self, pod: Pod, where: str) -> tuple[int, str]:
        name = pod.spec.priority_class_name
        chosen = self._classes.get(name) if name else self._default()
        if chosen is not None:
            pod.spec.priority_class_name = chosen.name
            return chosen.value, chosen.preemption_policy or PREEMPT_LOWER
        if not name or name in SYSTEM_CLASSES:
            return SYSTEM_CLASSES.get(name, 0), PREEMPT_LOWER
        raise InputError(where, "spec.priorityClassName", f"no PriorityClass with name {name} was found")

    def _default(self) -> PriorityClass | None:
        """Return the class for pods without one; among several, the one with the lowest value."""
        return min((c for c in self._classes.values() if c.global_default), key=lambda c: c.value, default=None)

    def _keep_priority(self, pod: Pod, old: Pod) -> None:
        """Keep priority and policy: an update may omit them but not change them."""
        where, spec, stored = f"Pod {pod.key}", pod.spec, old.spec
        spec.priority = stored.priority if spec.priority is None else spec.priority
        spec.preemption_policy = spec.preemption_policy or stored.preemption_policy
        spec.priority_class_name = spec.priority_class_name or stored.priority_class_name
        for field, new, stored_value in (
            ("spec.priority", spec.priority, stored.priority),
            ("spec.preemptionPolicy", spec.preemption_policy, stored.preemption_policy),
            ("spec.priorityClassName", spec.priority_class_name, stored.priority_class_name),
        ):
            if new != stored_value:
                raise InputError(where, field, f"must not be changed once the pod exists (it is {stored_value})")

    def check_class(self, new: PriorityClass, old: PriorityClass | None = None) -> None:
        """Validate a PriorityClass as the API server does. Raises InputError."""
        where = f"PriorityClass {new.name}"
        if new.name in SYSTEM_CLASSES:
            if new.value != SYSTEM_CLASSES[new.name] or new.global_default:
                raise InputError(
                    where, "", f"is a system class: its value is {SYSTEM_CLASSES[new.name]}, never default"
                )
        elif new.name.startswith(SYSTEM_PREFIX):
            raise InputError(where, "metadata.name", f"names that begin with {SYSTEM_PREFIX} are reserved")
        elif new.value > HIGHEST_USER_PRIORITY:
            raise InputError(where, "value", f"must be at most {HIGHEST_USER_PRIORITY}, got {new.value}")
        if old is not None and new.value != old.value:
            raise InputError(where, "value", "may not be changed in an update")
        if old is not None and (new.preemption_policy or PREEMPT_LOWER) != (old.preemption_policy or PREEMPT_LOWER):
            raise InputError(where, "preemptionPolicy", "may not be changed in an update")
        default = self._default()
        if new.global_default and default is not None and default.name != new.name:
            raise InputError(where, "globalDefault", f"PriorityClass {default.name} is the default already")

    # ---- tolerations

    @staticmethod
    def _tolerate(pod: Pod) -> None:
        for key in missing_tolerations((t.key, t.effect) for t in pod.spec.tolerations):
            added = Toleration(key, "Exists", "", "NoExecute", DEFAULT_TOLERATION_SECONDS)
            pod.spec.tolerations = [*pod.spec.tolerations, added]


def missing_tolerations(own: Iterable[tuple[str, str]]) -> list[str]:
    """Return the not-ready and unreachable taints that a pod does not tolerate.

    `own`: (key, effect) of its tolerations.
    """
    tolerated = {key for key, effect in own if effect in ("NoExecute", "")}
    return [] if "" in tolerated else [key for key in (NOT_READY, UNREACHABLE) if key not in tolerated]
