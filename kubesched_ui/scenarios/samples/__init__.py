"""Sample scenarios, each of which demonstrates one feature, and their import into the database."""

from collections.abc import Iterable
from pathlib import Path

from django.db import transaction

from kubesched_ui.ingest import IngestResult, ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Scenario
from kubesched_ui.runtime.advisory_lock import one_at_a_time

FOLDER = Path(__file__).parent

# Topics of the samples: heading -> prefix of their names -> their picture (templates/parts/sample_picture.html).
GROUPS = {
    "Filtering: where pods can run": {
        "Fit": "fit", "Affinity": "affinity", "Taints": "taints", "Host ports": "ports", "Volumes": "volumes",
        "Devices": "devices",
    },
    "Scoring: where pods run best": {
        "Spread": "spread", "Pod affinity": "near", "Image locality": "image", "Bin packing": "packing",
    },
    "Pending pods": {
        "Anti-affinity": "apart", "Preemption": "preemption", "Gates": "gates", "Pod groups": "group",
    },
    "Virtual time: queue, backoff, evictions": {
        "Virtual time: the queue": "queue", "Virtual time: backoff": "backoff", "Virtual time: which event": "hints",
        "Virtual time: preemption": "grace", "Virtual time: evictions": "eviction", "Virtual time: a gang": "gang",
    },
    "Older releases": {
        "Kubernetes 1.16: predicates": "sieve", "Kubernetes 1.16: map": "scales",
        "Kubernetes 1.16: a Policy": "policy", "Kubernetes 1.16: preemption": "budget",
        "Kubernetes 1.16: SelectorSpread": "zones", "Kubernetes 1.16: nodes": "avoid",
    },
}  # fmt: skip
OTHERS = "Others"


def grouped(samples: Iterable[Scenario]) -> dict[str, list[tuple[Scenario, str]]]:
    """Return heading -> (sample, name of its picture) in the order of GROUPS; samples without a group come last."""
    places = [(heading, name, picture) for heading, some in GROUPS.items() for name, picture in some.items()]
    found: dict[str, list[tuple[Scenario, str]]] = {heading: [] for heading in (*GROUPS, OTHERS)}
    for sample in samples:
        at = (place for place in places if sample.name.startswith(place[1]))
        heading, _, picture = next(at, (OTHERS, "", ""))
        found[heading].append((sample, picture))
    return {heading: some for heading, some in found.items() if some}


def load_samples() -> tuple[int, int]:
    """Update the samples in the database. Return the number of samples and the number of newly stored ones. A changed
    sample replaces the stored one, unless that one has runs: then both remain."""
    samples = [ingest_files([(path.name, path)]) for path in sorted(FOLDER.glob("*.yaml"))]
    with one_at_a_time("samples"):
        return len(samples), _store_new(samples)


def _store_new(samples: Iterable[IngestResult]) -> int:
    """Store new and changed samples. Return their number."""
    stored = 0
    known: dict[str, list[Scenario]] = {}
    for scenario in Scenario.objects.filter(origin=Scenario.Origin.SAMPLE):
        known.setdefault(scenario.name, []).append(scenario)
    for sample in samples:
        old = known.get(sample.name, [])
        mine = (sample.description, sample.config, sample.time, sample.objects)
        if any((one.description, one.config, one.time, list(one.objects_of())) == mine for one in old):
            continue
        with transaction.atomic():
            Scenario.objects.filter(pk__in=[s.pk for s in old], runs=None).delete()
            store(sample, origin=Scenario.Origin.SAMPLE)
        stored += 1
    return stored
