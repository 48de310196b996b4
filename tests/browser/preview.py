"""An upgrade preview for tests of pages: a small cluster on which releases differ in decisions and messages."""

from __future__ import annotations

from typing import Any

from tests.kubesched_ui.clusters import Object, as_list, node, pod
from tests.kubesched_ui.instance import Instance, until

SIDECAR = {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1500m"}}}
TAINT = {"key": "team", "value": "data", "effect": "NoSchedule"}


def cluster() -> list[Object]:
    """Pods with sidecars (1.27 does not count them), pods placed by balance (another formula since 1.36), and two pods
    that
    fit nowhere, with different messages.
    """
    nodes = [node(f"worker-{i}", cpu=str(2 + i % 4)) for i in range(6)]
    web = [pod(f"web-{i}", cpu=f"{300 + 200 * (i % 3)}m") for i in range(8)]
    meshed = [pod(f"meshed-{i}", cpu="1", initContainers=[SIDECAR]) for i in range(5)]
    return [
        *nodes,
        node("data-1", taints=[TAINT]),
        *meshed,
        *web,
        pod("report", cpu="64"),
        pod("train", cpu="3", nodeSelector={"gpu": "yes"}),
    ]


def preview(site: Instance, releases: list[str], **more: Any) -> dict[str, Any]:
    """Return {id, url, runs} of a finished preview of that cluster."""
    scenario = site.api("POST", "/scenarios", as_list(*cluster()))["id"]
    made: dict[str, Any] = site.api(
        "POST", f"/scenarios/{scenario}/upgrades", {"releases": releases, "every": False, **more}
    )
    address = f"/upgrades/{made['id']}?steps=false"
    until(lambda: site.api("GET", address)["state"] not in ("queued", "running"), "the preview")
    assert site.api("GET", address)["state"] == "done", site.api("GET", address)["error"]
    return made
