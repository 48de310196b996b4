"""The sample scenarios: readable, explained, and each about something."""

import pytest

from kubesched_ui.models import Run, Scenario
from kubesched_ui.samples import FOLDER, load_samples, read_samples

SAMPLES = {result.name: result for result in read_samples()}


def test_there_are_at_least_ten() -> None:
    assert len(SAMPLES) == len(list(FOLDER.glob("*.yaml"))) >= 10


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name: str) -> None:
    sample = SAMPLES[name]
    assert sample.warnings == []
    assert not sample.unknown
    assert not sample.dropped
    assert len(sample.description) > 200
    assert any(obj["kind"] == "Pod" and not obj["spec"].get("nodeName") for obj in sample.objects)


@pytest.mark.django_db
def test_loading_twice_stores_once() -> None:
    assert load_samples() == (len(SAMPLES), len(SAMPLES))
    assert load_samples() == (len(SAMPLES), 0)
    assert Scenario.objects.filter(origin="sample").count() == len(SAMPLES)


@pytest.mark.django_db
def test_a_changed_sample_replaces_the_stored_one_unless_it_has_runs() -> None:
    load_samples()
    unused, used = Scenario.objects.filter(origin="sample")[:2]
    Run.objects.create(scenario=used)
    Scenario.objects.filter(pk__in=[unused.pk, used.pk]).update(description="older")
    assert load_samples() == (len(SAMPLES), 2)
    assert not Scenario.objects.filter(pk=unused.pk).exists()
    assert Scenario.objects.filter(pk=used.pk).exists()
    assert load_samples() == (len(SAMPLES), 0)
