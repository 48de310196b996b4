"""Remarks on the version of a cluster: nearest release, patch releases, virtual time."""

import pytest

from scheduler_core.releases import NEWEST, RELEASES
from scheduler_core.releases.catalog import PATCHES
from scheduler_core.releases.conformance import is_verified
from scheduler_core.releases.remarks import (
    cluster_remarks,
    default_release,
    default_release_note,
    nearest_release,
    virtual_time_remark,
)

OLDEST = next(iter(RELEASES))


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("v1.14.3", OLDEST),
        ("1.10.11-gke.1", OLDEST),
        ("v1.99.0", NEWEST),
        ("v1.26.0+k3s1", "1.26"),
        ("1.34", "1.34"),
        ("", ""),
        ("v2.0.0", ""),
        ("nonsense", ""),
    ],
)
def test_the_nearest_release(version: str, release: str) -> None:
    assert nearest_release(version) == release


@pytest.mark.parametrize(
    ("version", "release", "why"),
    [
        ("v1.31.8-eks-abc", "1.31.8", "the cluster runs Kubernetes v1.31.8-eks-abc"),
        ("v1.30.5-gke.100", "1.30.5", "the cluster runs Kubernetes v1.30.5-gke.100"),
        ("v1.29.11+rke2r1", "1.29.11", "the cluster runs Kubernetes v1.29.11+rke2r1"),
        ("v1.29.14+7cf4c05", "1.29.14", "the cluster runs Kubernetes v1.29.14+7cf4c05"),
        ("v2.0.0", NEWEST, "v2.0.0 is not a known version"),
        ("", NEWEST, "the input has no version of a cluster"),
    ],
)
def test_why_a_release_is_the_default(version: str, release: str, why: str) -> None:
    assert default_release(version) == release
    assert f" because {why}; " in default_release_note(release, version)


def test_a_cluster_without_a_release() -> None:
    (remark,) = cluster_remarks("v1.14.3", OLDEST)
    assert remark == f"The cluster runs Kubernetes v1.14.3. The nearest release here is {OLDEST}, the oldest one."
    assert cluster_remarks("v1.14.3", "1.34") == []  # chosen by the user
    assert "the newest one" in cluster_remarks("v1.99.0", NEWEST)[0]


def test_patch_releases_that_differ() -> None:
    (remark,) = cluster_remarks("v1.31.8", "1.31")
    assert remark.startswith(
        "The cluster runs Kubernetes v1.31.8; 1.31 is simulated as 1.31.1. They differ: in 1.31.1, "
    )
    assert "in 1.31.8, victims are sorted by importance" in remark
    assert "(kubernetes/kubernetes#128307)" in remark
    assert cluster_remarks("v1.31.8", "1.31.8") == cluster_remarks("v1.31.8", "1.31.3 A=true") == []
    assert "v1.31.2; 1.31.8 is simulated. They differ: in 1.31.8" in cluster_remarks("v1.31.2", "1.31.8")[0]
    assert "in 1.26.0, all Filter plugins" in cluster_remarks("v1.26.0", "1.26")[0]
    assert "does not name the taint" in cluster_remarks("v1.34.3", "1.34 A=true")[0]
    assert cluster_remarks("v1.23.0", "1.23") == cluster_remarks("1.34", "1.34") == []


def test_a_patch_release_that_is_too_new() -> None:
    newest = PATCHES["1.31"]
    (remark,) = cluster_remarks(f"v1.31.{newest + 1}", default_release(f"v1.31.{newest + 1}"))
    assert remark == f"The cluster runs Kubernetes v1.31.{newest + 1}. Changes since 1.31.{newest} are not known here."
    assert cluster_remarks(f"v1.31.{newest}", f"1.31.{newest}") == []


@pytest.mark.parametrize(
    ("version", "release"),
    [
        *(("v1.31.8+k3s1", "1.31.8"), ("v1.31.1", "1.31"), ("1.31", "1.31"), ("v1.34.0-rc.1", "1.34.0")),
        *((f"v{NEWEST}.999 A=true", f"{NEWEST}.999 A=true"), ("v1.99.3", NEWEST), ("", NEWEST), ("1.34.2.3", "1.34.2")),
    ],
)
def test_the_default_release_of_a_cluster_is_its_patch_release(version: str, release: str) -> None:
    assert default_release(version) == release


@pytest.mark.parametrize(
    ("release", "first", "fixed"), [("1.19", 13, 16), ("1.20", 9, 12), ("1.21", 3, 6), ("1.22", 0, 4)]
)
def test_a_regression_of_some_patch_releases(release: str, first: int, fixed: int) -> None:
    """Only these decide otherwise, not earlier ones."""
    differ = [patch for patch in range(PATCHES[release]) if cluster_remarks(f"v{release}.{patch}", release)]
    assert differ == list(range(first, fixed))
    (remark,) = cluster_remarks(f"v{release}.{first}", release)
    assert f"in {release}.{first}, NodeResourcesBalancedAllocation" in remark


@pytest.mark.parametrize("release", RELEASES)
def test_virtual_time_without_recorded_scenarios(release: str) -> None:
    remark = virtual_time_remark(f"{release} A=true")
    assert (remark == "") == is_verified(release, in_time=True)
    assert remark == "" or remark.startswith(f"In virtual time, the queue of kube-scheduler {release} follows")
