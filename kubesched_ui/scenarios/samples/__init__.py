"""Sample scenarios, each of which demonstrates one feature, and their import into the database."""

from collections.abc import Iterable
from pathlib import Path

from django.db import transaction

from kubesched_ui.ingest import IngestResult, ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Scenario
from kubesched_ui.runtime.advisory_lock import one_at_a_time

FOLDER = Path(__file__).parent

# Topics of the samples: heading -> prefixes of their names.
GROUPS = {
    "Filtering: where pods can run": ("Fit", "Affinity", "Taints", "Host ports", "Volumes", "Devices"),
    "Scoring: where pods run best": ("Spread", "Pod affinity", "Image locality", "Bin packing"),
    "Pending pods": ("Anti-affinity", "Preemption", "Gates", "Pod groups"),
    "Plugins of scheduler-plugins": ("NUMA", "Quotas", "Network costs"),
    "Virtual time: queue, backoff, evictions": ("Virtual time",),
    "Older releases": ("Kubernetes 1.16",),
}
OTHERS = "Others"


def grouped(samples: Iterable[Scenario]) -> dict[str, list[Scenario]]:
    """Return heading -> samples in the order of GROUPS; samples without a group come last."""
    found: dict[str, list[Scenario]] = {heading: [] for heading in (*GROUPS, OTHERS)}
    for sample in samples:
        found[next((heading for heading, some in GROUPS.items() if sample.name.startswith(some)), OTHERS)].append(
            sample
        )
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
