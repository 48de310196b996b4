"""Patches of pod templates: made from an edited pod, and applied to pods."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from scheduler_core.api.objects import decode
from scheduler_core.api.patches import difference, merge_patch
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.forks.template_patch import MERGE_KEYS, of_template
from scheduler_core.releases import get_release
from tests.api_server.patches import strategic_merge_patch
from tests.scheduler_core.build import pod

Raw = dict[str, Any]


def info(raw: Raw) -> PodInfo:
    found: Any = decode(raw)
    return PodInfo(found, get_release("1.34"))


def test_a_patch_names_only_what_changes() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81}]
    old = {
        "spec": {"containers": [{"name": "a", "image": "i", "ports": ports}, {"name": "b"}], "nodeSelector": {"k": "v"}}
    }
    new = copy.deepcopy(old)
    del new["spec"]["containers"][0]["ports"][0]["hostPort"]
    new["spec"]["nodeSelector"] = {"k": "w"}
    patch = difference(old, new, MERGE_KEYS)
    container = {"name": "a", "ports": [{"containerPort": 80, "hostPort": None}]}
    assert patch == {"spec": {"containers": [container], "nodeSelector": {"k": "w"}}}
    assert merge_patch(old, patch, MERGE_KEYS) == new == strategic_merge_patch(old, patch)


def test_two_constraints_with_one_key_have_no_strategic_patch() -> None:
    constraint = {"topologyKey": "zone", "maxSkew": 1}
    old = {"spec": {"topologySpreadConstraints": [constraint, {**constraint, "maxSkew": 2}]}}
    new = {"spec": {"topologySpreadConstraints": [{**constraint, "maxSkew": 3}, {**constraint, "maxSkew": 2}]}}
    with pytest.raises(LookupError):
        difference(old, new, MERGE_KEYS)


def test_a_template_has_nothing_that_only_its_pods_have() -> None:
    added = {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    pressure = {"key": "node.kubernetes.io/disk-pressure", "operator": "Exists", "effect": "NoSchedule"}
    own = {"key": "gpu", "operator": "Exists"}
    patch = {"spec": {"tolerations": [added, pressure, own]}}
    wanted = info(pod("p", labels={"pod-template-hash": "x"}))
    assert of_template(wanted, patch)["spec"]["tolerations"] == [pressure, own]
    assert of_template(wanted, patch, daemon=True)["spec"]["tolerations"] == [own]
    expressions = [{"key": "pod-template-hash", "operator": "In", "values": ["x"]}]
    term = {"matchLabelKeys": ["pod-template-hash"], "labelSelector": {"matchExpressions": expressions}}
    patch = {"spec": {"affinity": {"podAntiAffinity": {"required": [term]}}}}
    found = of_template(wanted, patch)["spec"]["affinity"]["podAntiAffinity"]["required"][0]
    assert found == {"matchLabelKeys": ["pod-template-hash"], "labelSelector": {}}
    assert term["labelSelector"]["matchExpressions"] == expressions, "the pod's patch stays"
