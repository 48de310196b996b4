"""Pod groups of scheduling.k8s.io in a scenario: the feature gates that the cluster must have enabled."""

import re
from collections.abc import Iterator
from contextlib import suppress

from kubesched_ui.ingest.kinds import POD_GROUP
from kubesched_ui.models import Scenario
from scheduler_core.api.objects import decode
from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster.formatting import count
from scheduler_core.errors import InputError
from scheduler_core.pod_groups.needed_gates import needed_gates
from scheduler_core.releases import NEWEST, RELEASES, Release, get_release
from scheduler_core.releases.feature_gates import gates_of, spelled, with_known_gates
from scheduler_core.releases.versions import numbered

_MINOR = re.compile(r"v?(\d{1,3}\.\d{1,3})")


def gates_for(scenario: Scenario, release: Release | None = None) -> dict[str, bool]:
    """Return the feature gates without which the cluster could not have its PodGroups; {} if it has none. `release`:
    only those that it knows."""
    gates = needed_gates(_groups(scenario)) if scenario.counts.get(POD_GROUP) else {}
    return gates if release is None else {name: on for name, on in gates.items() if name in gates_of(release)}


def _groups(scenario: Scenario) -> Iterator[PodGroup]:
    for raw in scenario.objects_of([POD_GROUP]):
        with suppress(InputError):  # the run reports the invalid object
            group = decode(raw)
            if isinstance(group, PodGroup):
                yield group


def suitable_release(scenario: Scenario, release: str) -> Release:
    """Return the release with the gates that it knows: `1.36 GangScheduling=true,...`."""
    return with_known_gates(get_release(release), gates_for(scenario))


def pod_group_warnings(scenario: Scenario, release: str) -> list[str]:
    """Return warnings about a run that places the pods of groups individually. `release`: with its feature gates."""
    number = scenario.counts.get(POD_GROUP, 0)
    known = get_release(release)
    if not number or known.pod_groups:
        return []
    message = f"The cluster has {count(number, 'PodGroup')}, but this run schedules each pod individually."
    choose = ""
    if "GenericWorkload" not in gates_of(known):
        known = get_release(_with_groups(scenario.kubernetes))
        choose = f"choose release {known.number} and "
    way = f"{choose}set the feature gates {spelled(gates_for(scenario, known))}"
    return [f"{message} To schedule the pods of a group together, {way}."]


def _with_groups(version: str) -> str:
    """Return the release of the cluster if it has pod groups, else the nearest one. `version`: of the cluster."""
    known = [name for name in RELEASES if "GenericWorkload" in gates_of(get_release(name))]
    found = _MINOR.match(version)
    wanted = numbered(found[1]) if found else numbered(NEWEST)
    older = [name for name in known if numbered(name) <= wanted]
    return max(older, key=numbered) if older else min(known, key=numbered)
