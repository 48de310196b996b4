"""Kinds that plugins of scheduler-plugins read, and warnings about them in runs."""

from __future__ import annotations

import json
from typing import Any

from scheduler_core.framework.plugin_kinds import kind_sentences
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario import load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}]}}}],
}
QUOTA = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "ElasticQuota",
    "metadata": {"name": "q", "namespace": "a"},
    "spec": {"min": {"cpu": "4"}},
}
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "a"},
    "spec": {"schedulingPolicy": {"basic": {}}},
}


def warnings(*objects: dict[str, Any], config: Any = CONFIG) -> list[str]:
    return Simulation(objects, config=config).warnings


def test_a_kind_that_an_enabled_plugin_reads_is_missing() -> None:
    (missing,) = warnings()
    assert "enables CapacityScheduling, which reads ElasticQuota objects: there are none here" in missing
    assert warnings(QUOTA) == []


def test_a_kind_that_no_enabled_plugin_reads() -> None:
    assert warnings(QUOTA, config=None) == [
        "The cluster has 1 ElasticQuota, which only CapacityScheduling reads. The configuration does not enable it."
    ]
    assert warnings(GROUP, config=None) == []  # another kind with the name of Coscheduling's
    assert kind_sentences({"TopologicalSort"}, {"AppGroup": 2}) == []
    (unread,) = kind_sentences((), {"AppGroup": 2})
    assert "2 AppGroups, which only NetworkOverhead and TopologicalSort read" in unread


def test_an_object_that_the_timeline_creates_is_not_missing() -> None:
    spec = {"config": CONFIG, "timeline": [{"at": "5s", "create": QUOTA}]}
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "s"}, "spec": spec}
    assert ScenarioRun(load_scenario(json.dumps(document))).simulation.warnings == []
