"""What is said about a cluster's version: the nearest release, patch releases, and virtual time."""

import pytest

from scheduler_core.releases import NEWEST, RELEASES
from scheduler_core.releases.changelog_page import CASES
from scheduler_core.releases.remarks import cluster_remarks, nearest_release, virtual_time_remark

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


def test_a_cluster_without_a_release() -> None:
    (told,) = cluster_remarks("v1.14.3", OLDEST)
    assert told == f"The cluster runs Kubernetes v1.14.3. The nearest release here is {OLDEST}, the oldest one."
    assert cluster_remarks("v1.14.3", "1.34") == []  # chosen by hand
    assert "the newest one" in cluster_remarks("v1.99.0", NEWEST)[0]


def test_patch_releases_that_differ() -> None:
    (told,) = cluster_remarks("v1.26.0", "1.26")
    assert "1.26 is simulated as 1.26.4" in told
    assert "since 1.26.1, only the first Filter plugin" in told
    assert cluster_remarks("v1.26.9", "1.26") == []
    assert "does not name the taint" in cluster_remarks("v1.34.3", "1.34 A=true")[0]
    assert cluster_remarks("v1.34.0", "1.34") == []
    assert cluster_remarks("1.34", "1.34") == []


@pytest.mark.parametrize("release", RELEASES)
def test_virtual_time_without_recorded_scenarios(release: str) -> None:
    told = virtual_time_remark(f"{release} A=true")
    assert (told == "") == (CASES.get(release) is not None and CASES[release].in_time is not None)
    assert told == "" or told.startswith(f"In virtual time, the queue of kube-scheduler {release} follows")
