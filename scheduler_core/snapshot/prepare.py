"""Prepares the objects of a snapshot for a run, for pages, API and commands, in single pass and in virtual time."""

import copy
import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.devices import ResourceClaim, ResourceClaimTemplate
from scheduler_core.api.objects import Object, PersistentVolumeClaim, Pod, decode_all
from scheduler_core.cluster.formatting import count, some
from scheduler_core.controllers import device_claims
from scheduler_core.controllers.admission import Admission
from scheduler_core.controllers.pod_template import Workload
from scheduler_core.errors import InputError
from scheduler_core.releases import Release
from scheduler_core.snapshot import defaults
from scheduler_core.snapshot.defaults import Filled
from scheduler_core.snapshot.generated_names import NAMED, name_objects
from scheduler_core.snapshot.missing_claims import claims_of, stand_ins
from scheduler_core.snapshot.preflight import Choices, Preflight
from scheduler_core.snapshot.warnings import SHOWN, Remark, remarks
from scheduler_core.snapshot.workload_pods import other_objects, pods_of

Raw = dict[str, Any]


@dataclass(slots=True)
class Prepared:
    """The prepared objects of a run.

    `objects`: the initial objects of the run. `bare`: workloads without pods. `made`: the pods created for them.
    `others`: schedulers that are not configured -> number of their pods. `deleting`: pods that are skipped because they
    are being deleted.
    """

    objects: list[Object]
    bare: list[Workload]
    made: list[Pod] = field(default_factory=list)
    others: dict[str, int] = field(default_factory=dict)
    deleting: list[str] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        return [remark.message for remark in self.remarks]


def prepare(
    raws: Iterable[Raw],
    *,
    release: Release,
    schedulers: Collection[str],
    choices: Choices,
    seed: int = 0,
    only: Collection[str] | None = None,
) -> Prepared:
    """Prepare a single-pass run from raw dicts, which are changed in place.

    `schedulers`: the names of the profiles. `seed`: for the names of created pods. `only`: titles of the workloads
    whose pods may be created; None for all. Raises InputError.
    """
    raws, filled = list(raws), Filled()
    for raw in name_objects(raws):
        filled.add([(NAMED, 1, "")], defaults.title(raw))
    for raw in raws:
        filled.add(defaults.fill(raw, release), defaults.title(raw))
    return prepare_decoded(
        decode_all(raws),
        raws,
        filled,
        release=release,
        schedulers=schedulers,
        choices=choices,
        seed=seed,
        only=only,
    )


def prepare_decoded(
    objects: list[Object],
    workloads: Iterable[Raw],
    filled: Filled,
    *,
    release: Release,
    schedulers: Collection[str],
    choices: Choices,
    seed: int = 0,
    only: Collection[str] | None = None,
) -> Prepared:
    """Prepare a single-pass run as `prepare` does, from objects that have defaults.

    `workloads`: objects that make pods, as raw dicts; others among them are ignored. `filled`: the defaults. Raises
    InputError.
    """
    preflight = Preflight(workloads, schedulers, release, only)
    for obj in objects:
        preflight.add(obj)
    bare = preflight.bare.workloads
    made, others = make(bare, preflight, seed)
    for pod in made:
        preflight.add_class(pod)
    prepared = Prepared([*objects, *made, *others], bare, made)
    complete(prepared, preflight, choices)
    if filled:
        prepared.remarks.append(Remark("filled", filled.message, filled.counts))
    return prepared


def prepare_virtual_time(
    objects: Iterable[Object],
    workloads: Iterable[Raw],
    planned: Sequence[Object | Workload],
    *,
    release: Release,
    schedulers: Collection[str],
    choices: Choices,
    admission: bool,
    only: Collection[str] | None = None,
) -> Prepared:
    """Prepare a virtual-time run. The controllers create the pods of workloads without pods.

    `objects` (decoded) and `workloads` (raw) have defaults applied. `planned`: objects that are created later;
    `choices` also apply to their pods. `admission`: whether admission is enabled. `only`: see `prepare`. All of them
    are changed in place. Raises InputError.
    """
    objects = list(objects)
    preflight = Preflight(workloads, schedulers, release, only)
    for obj in (*objects, *(obj for obj in planned if isinstance(obj, Object) and not isinstance(obj, Pod))):
        preflight.add(obj)
    prepared = Prepared(objects, preflight.bare.workloads)
    pods = [obj for obj in planned if isinstance(obj, Pod)]
    for pod in pods:
        preflight.add_pod(pod)
    makers = [*prepared.bare, *(obj for obj in planned if isinstance(obj, Workload))]
    expected, _ = make([copy.copy(maker) for maker in makers], preflight, 0)  # only to find out which objects they name
    complete(prepared, preflight, choices, [*pods, *expected, *(maker.base for maker in makers)], admission)
    return prepared


def make(workloads: Iterable[Workload], preflight: Preflight, seed: int) -> tuple[list[Pod], list[Object]]:
    """Return the pods of workloads and the other objects of their controllers. Both are added to `preflight`."""
    chance = random.Random(f"{seed}/workloads")
    made, more = list[Pod](), list[Object]()
    for workload in workloads:
        pods = list(pods_of(workload, preflight.nodes, preflight.release, chance))
        made += pods
        more += other_objects(workload, pods, preflight.storage_classes)
    for pod in made:
        preflight.add_pod(pod)
    for obj in more:
        preflight.add(obj)
    return made, more


def complete(
    prepared: Prepared, preflight: Preflight, choices: Choices, coming: Sequence[Pod] = (), admission: bool = True
) -> None:
    """Apply admission and `choices` to the objects and add remarks. `coming`: pods that are created later."""
    prepared.remarks += remarks(preflight, choices)
    prepared.deleting = preflight.deleting
    if admission:
        prepared.remarks += _admit(prepared, preflight)
    prepared.remarks += _claim_devices(prepared)
    pods = [*(obj for obj in prepared.objects if isinstance(obj, Pod)), *coming]
    if choices.other_schedulers == "take":
        for pod in pods:
            if not pod.spec.node_name and pod.spec.scheduler_name not in preflight.schedulers:
                pod.spec.scheduler_name = preflight.schedulers[0]
    else:
        prepared.others = {scheduler: len(pods) for scheduler, pods in preflight.others.items()}
    if choices.absent_claims == "bound":
        owners = {key: pod for pod in pods for key, own in claims_of(pod) if own}
        for number, key in enumerate(preflight.absent_claims, 1):
            prepared.objects += stand_ins(number, key, owners.get(key))


def _admit(prepared: Prepared, preflight: Preflight) -> list[Remark]:
    admission = Admission(preflight.classes, preflight.storage_classes)
    made, priorities, claims = {id(pod) for pod in prepared.made}, Counter[str](), 0
    for obj in prepared.objects:
        if isinstance(obj, Pod):
            try:
                named = admission.admit_loosely(obj, new=obj.typed or id(obj) in made)
            except InputError:
                continue  # a missing class is already reported
            if named:
                priorities[named] += 1
        elif isinstance(obj, PersistentVolumeClaim) and obj.typed:
            claims += admission.admit_claim(obj)
    found = []
    if priorities:
        names = some([f"{name} ({pods:,})" for name, pods in priorities.most_common()], SHOWN)
        message = f"Priority filled in from the PriorityClass for {count(priorities.total(), 'pod')}: {names}."
        found.append(Remark("priorities", message, priorities))
    if claims:
        message = f"The default StorageClass was filled in for {count(claims, 'claim')}."
        found.append(Remark("storage-class", message, {"claims": claims}))
    return found


def _claim_devices(prepared: Prepared) -> list[Remark]:
    """Create the claims of pods that name templates, if the pods come from a user and not from a cluster."""
    templates = {obj.key: obj for obj in prepared.objects if isinstance(obj, ResourceClaimTemplate)}
    if not templates:
        return []
    known = {obj.key: obj for obj in prepared.objects if isinstance(obj, ResourceClaim)}
    before, new = len(known), {id(pod) for pod in prepared.made}
    for pod in (obj for obj in prepared.objects if isinstance(obj, Pod)):
        if not pod.terminated and (pod.typed or id(pod) in new):
            for claim in device_claims.make(pod, templates, known):
                known[claim.key] = claim
    made = list(known.values())[before:]
    if not made:
        return []
    prepared.objects += made
    names = some([claim.name for claim in made], SHOWN)
    message = f"{count(len(made), 'ResourceClaim')} created from templates for pods without claims: {names}."
    return [Remark("device-claims", message, {"claims": len(made)})]
