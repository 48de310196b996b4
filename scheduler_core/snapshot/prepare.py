"""From the objects of a snapshot to those of a run. One way for pages, API and commands, in one pass and in time."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.devices import ResourceClaim, ResourceClaimTemplate
from scheduler_core.api.objects import Object, PersistentVolumeClaim, Pod, decode_all
from scheduler_core.controllers import device_claims
from scheduler_core.controllers.admission import Admission
from scheduler_core.controllers.pod_template import Workload
from scheduler_core.errors import InputError
from scheduler_core.explain.formatting import count, some
from scheduler_core.releases import Release
from scheduler_core.snapshot import defaults
from scheduler_core.snapshot.defaults import Filled
from scheduler_core.snapshot.missing_claims import claims_of, stand_ins
from scheduler_core.snapshot.preflight import Choices, Outlook
from scheduler_core.snapshot.warnings import SHOWN, Remark, remarks
from scheduler_core.snapshot.workload_pods import beside, pods_of

Raw = dict[str, Any]


@dataclass(slots=True)
class Prepared:
    """`objects`: what the run begins with. `bare`: workloads whose pods are to be made; `made`: those that were.
    `others`: schedulers whose pods are left to them -> how many. `deleting`: pods that are skipped."""

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
    """The objects of a run in one pass, of raw dicts, which are changed in place.

    `schedulers`: names of the profiles. `seed`: for the names of pods that are made. `only`: titles of the workloads
    whose pods may be made; None for all. Raises InputError.
    """
    raws, filled = list(raws), Filled()
    for raw in raws:
        filled.add(defaults.fill(raw, release), defaults.title(raw))
    outlook = Outlook(raws, schedulers, release, only)
    objects = decode_all(raws)
    for obj in objects:
        outlook.see(obj)
    bare = outlook.bare.workloads
    made, beside_them = make(bare, outlook, seed)
    for pod in made:
        outlook.see_class(pod)
    prepared = Prepared([*objects, *made, *beside_them], bare, made)
    complete(prepared, outlook, choices)
    if filled:
        prepared.remarks.append(Remark("filled", filled.message, filled.counts))
    return prepared


def prepare_in_time(
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
    """The objects with which a run in time begins; the pods of bare workloads are left to their controllers.

    `objects`: decoded, and `workloads`: raw, both filled in. `planned`: what comes later; its pods have what `choices`
    say, too. `admission`: whether it is at work. `only`: as above. All of it is changed in place. Raises InputError.
    """
    objects = list(objects)
    outlook = Outlook(workloads, schedulers, release, only)
    for obj in (*objects, *(obj for obj in planned if isinstance(obj, Object) and not isinstance(obj, Pod))):
        outlook.see(obj)
    prepared = Prepared(objects, outlook.bare.workloads)
    pods = [obj for obj in planned if isinstance(obj, Pod)]
    for pod in pods:
        outlook.see_pod(pod)
    makers = [*prepared.bare, *(obj for obj in planned if isinstance(obj, Workload))]
    expected, _ = make([copy.copy(maker) for maker in makers], outlook, 0)  # only to know what they name
    complete(prepared, outlook, choices, [*pods, *expected, *(maker.base for maker in makers)], admission)
    return prepared


def make(workloads: Iterable[Workload], outlook: Outlook, seed: int) -> tuple[list[Pod], list[Object]]:
    """The pods of workloads, and what their controllers make beside them; the outlook sees both."""
    chance = random.Random(f"{seed}/workloads")
    made, more = list[Pod](), list[Object]()
    for workload in workloads:
        pods = list(pods_of(workload, outlook.nodes, outlook.release, chance))
        made += pods
        more += beside(workload, pods, outlook.storage_classes)
    for pod in made:
        outlook.see_pod(pod)
    for obj in more:
        outlook.see(obj)
    return made, more


def complete(
    prepared: Prepared, outlook: Outlook, choices: Choices, coming: Sequence[Pod] = (), admission: bool = True
) -> None:
    """Does what admission and `choices` say to the objects, and says so. `coming`: pods that are none of them yet."""
    prepared.remarks += remarks(outlook, choices)
    prepared.deleting = outlook.deleting
    if admission:
        prepared.remarks += _admit(prepared, outlook)
    prepared.remarks += _claim_devices(prepared)
    pods = [*(obj for obj in prepared.objects if isinstance(obj, Pod)), *coming]
    if choices.other_schedulers == "take":
        for pod in pods:
            if not pod.spec.node_name and pod.spec.scheduler_name not in outlook.schedulers:
                pod.spec.scheduler_name = outlook.schedulers[0]
    else:
        prepared.others = {scheduler: len(pods) for scheduler, pods in outlook.others.items()}
    if choices.absent_claims == "bound":
        owners = {key: pod for pod in pods for key, own in claims_of(pod) if own}
        for number, key in enumerate(outlook.absent_claims, 1):
            prepared.objects += stand_ins(number, key, owners.get(key))


def _admit(prepared: Prepared, outlook: Outlook) -> list[Remark]:
    admission = Admission(outlook.classes, outlook.storage_classes)
    made, priorities, claims = {id(pod) for pod in prepared.made}, Counter[str](), 0
    for obj in prepared.objects:
        if isinstance(obj, Pod):
            with suppress(InputError):  # of a class that does not exist, which is said already
                priorities[admission.admit_loosely(obj, new=obj.typed or id(obj) in made)] += 1
        elif isinstance(obj, PersistentVolumeClaim) and obj.typed:
            claims += admission.admit_claim(obj)
    del priorities[""]
    said = []
    if priorities:
        names = some([f"{name} ({pods:,})" for name, pods in priorities.most_common()], SHOWN)
        message = f"Priority filled in from the PriorityClass for {count(priorities.total(), 'pod')}: {names}."
        said.append(Remark("priorities", message, priorities))
    if claims:
        message = f"The default StorageClass was filled in for {count(claims, 'claim')}."
        said.append(Remark("storage-class", message, {"claims": claims}))
    return said


def _claim_devices(prepared: Prepared) -> list[Remark]:
    """Makes the claims of pods that name templates, where nobody had the chance to yet."""
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
    message = f"{count(len(made), 'ResourceClaim')} made of templates for pods that have none yet: {names}."
    return [Remark("device-claims", message, {"claims": len(made)})]
