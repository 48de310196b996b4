"""Scenarios written by us, each teaching one thing, and how they get into the database."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from django.db import transaction

from kubesched_ui.ingest import IngestResult, ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Scenario
from kubesched_ui.runtime.advisory_lock import one_at_a_time

FOLDER = Path(__file__).parent

# What the samples teach: heading -> how their names begin -> their picture (templates/parts/sample_picture.html).
GROUPS = {
    "Where a pod may go": {
        "Fit": "fit",
        "Affinity": "affinity",
        "Taints": "taints",
        "Host ports": "ports",
        "Volumes": "volumes",
        "Devices": "devices",
    },
    "Where it goes best": {
        "Spread": "spread",
        "Pod affinity": "near",
        "Image locality": "image",
        "Bin packing": "packing",
    },
    "When it has to wait": {
        "Anti-affinity": "apart",
        "Preemption": "preemption",
        "Gates": "gates",
        "Pod groups": "group",
    },
    "In time: the queue, backoff, evictions": {
        "Time: the queue": "queue",
        "Time: backoff": "backoff",
        "Time: which event": "hints",
        "Time: preemption": "grace",
        "Time: who has to leave": "eviction",
        "Time: a gang": "gang",
    },
    "Then: how older releases decided": {
        "Then: predicates": "sieve",
        "Then: map": "scales",
        "Then: a Policy": "policy",
        "Then: preemption": "budget",
        "Then: SelectorSpread": "zones",
        "Then: nodes": "avoid",
    },
}
OTHERS = "Others"


def grouped(samples: Iterable[Scenario]) -> dict[str, list[tuple[Scenario, str]]]:
    """Heading -> (sample, the name of its picture), in the order of GROUPS; what is in none of them comes last."""
    places = [(heading, name, picture) for heading, some in GROUPS.items() for name, picture in some.items()]
    found: dict[str, list[tuple[Scenario, str]]] = {heading: [] for heading in (*GROUPS, OTHERS)}
    for sample in samples:
        at = (place for place in places if sample.name.startswith(place[1]))
        heading, _, picture = next(at, (OTHERS, "", ""))
        found[heading].append((sample, picture))
    return {heading: some for heading, some in found.items() if some}


def read_samples() -> list[IngestResult]:
    """All samples, in the order in which they are meant to be read (their files are numbered)."""
    return [ingest_files([(path.name, path)]) for path in sorted(FOLDER.glob("*.yaml"))]


def load_samples() -> tuple[int, int]:
    """Brings the database's samples up to date; (number of samples, of those newly stored).

    A sample that was changed replaces the stored one, unless there are runs of that: then both stay.
    """
    samples = read_samples()
    with one_at_a_time("samples"):
        return len(samples), _store_new(samples)


def _store_new(samples: Iterable[IngestResult]) -> int:
    """How many were new or changed."""
    stored = 0
    known: dict[str, list[Scenario]] = {}
    for scenario in Scenario.objects.filter(origin=Scenario.Origin.SAMPLE):
        known.setdefault(scenario.name, []).append(scenario)
    for sample in samples:
        old = known.get(sample.name, [])
        if any(_same(scenario, sample) for scenario in old):
            continue
        with transaction.atomic():
            Scenario.objects.filter(pk__in=[s.pk for s in old], runs=None).delete()
            store(sample, origin=Scenario.Origin.SAMPLE)
        stored += 1
    return stored


def _same(scenario: Scenario, sample: IngestResult) -> bool:
    if (scenario.description, scenario.config, scenario.time) != (sample.description, sample.config, sample.time):
        return False
    return list(scenario.objects_of()) == sample.objects
