"""The sample scenarios: readable, explained, and each shows what its text promises."""

import pytest

from kubesched_ui.ingest import IngestResult, ingest_files
from kubesched_ui.models import Run, Scenario
from kubesched_ui.samples import FOLDER, load_samples
from scheduler_core.simulation import Simulation

FILES = sorted(FOLDER.glob("*.yaml"))
# Pod -> node, "" for pods that stay pending. Ties go to the first node by name.
EXPECTED = {
    "01-fit": {"small": "n3", "medium": "n3", "large": ""},
    "02-node-affinity": {"database": "fast-3", "batch": "slow-2", "typo": ""},
    "03-taints": {"plain": "open", "training": "gpu", "agent": "control"},
    "04-zone-spread": {"shop-2": "c1", "shop-3": "a2", "shop-4": "b2", "shop-5": ""},
    "05-anti-affinity-deadlock": {"web-new-1": "", "other": ""},
    "06-host-ports": {"ingress-3": "n3", "ingress-4": "", "dns-b": "n1", "dns-all": ""},
    "07-volume-zone": {"ledger-0": "b2", "archive-0": "", "fresh-0": "a1", "lost-0": ""},
    "08-image-locality": {"model-0": "n2", "web-0": "n1", "model-1": "n2", "model-2": "n2"},
    "09-bin-packing": {f"job-{i}": "n1" if i < 5 else "n2" for i in range(1, 9)},
    "10-preemption": {"urgent": "", "patient": ""},
    "11-gates": {"free": "n1", "quota": "", "two-gates": ""},
    "12-pod-affinity": {
        "front-0": "b2", "front-1": "b3", "front-2": "b1", "group-0": "a1", "group-1": "a2", "orphan": "",
    },
}  # fmt: skip


def sample(name: str) -> IngestResult:
    path = FOLDER / f"{name}.yaml"
    return ingest_files([(path.name, path)])


def test_every_sample_is_tested() -> None:
    assert [path.stem for path in FILES] == list(EXPECTED)
    assert len({sample(name).name for name in EXPECTED}) == len(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_sample(name: str) -> None:
    result = sample(name)
    assert (result.warnings, dict(result.unknown), dict(result.dropped)) == ([], {}, {})
    assert len(result.description) > 200
    run = Simulation(result.objects, config=result.config or None, tie_break="name").run()
    assert {trace.pod.partition("/")[2]: trace.node for trace in run} == EXPECTED[name]


def test_packing_is_the_configurations_doing() -> None:
    run = Simulation(sample("09-bin-packing").objects, tie_break="name").run()
    assert {trace.node for trace in run} == {"n2", "n3", "n4"}  # n1 is the fullest


def test_preemption_takes_the_cheapest_node() -> None:
    urgent, patient = Simulation(sample("10-preemption").objects, tie_break="name").run()
    assert (urgent.nominated_node, sorted(urgent.victims)) == ("n3", ["default/scan-0", "default/scan-1"])
    assert patient.nominated_node == ""


@pytest.mark.django_db
def test_loading_twice_stores_once() -> None:
    assert load_samples() == (len(FILES), len(FILES))
    assert load_samples() == (len(FILES), 0)
    assert Scenario.objects.filter(origin="sample").count() == len(FILES)


@pytest.mark.django_db
def test_a_changed_sample_replaces_the_stored_one_unless_it_has_runs() -> None:
    load_samples()
    unused, used = Scenario.objects.filter(origin="sample")[:2]
    Run.objects.create(scenario=used)
    Scenario.objects.filter(pk__in=[unused.pk, used.pk]).update(description="older")
    assert load_samples() == (len(FILES), 2)
    assert not Scenario.objects.filter(pk=unused.pk).exists()
    assert Scenario.objects.filter(pk=used.pk).exists()
    assert load_samples() == (len(FILES), 0)
