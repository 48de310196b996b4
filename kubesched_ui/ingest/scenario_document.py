"""The export format of this project, `kind: Scenario`: a cluster with name, description and configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesched_ui.ingest.formats import OUR_API, SCENARIO_KIND


def scenario_document(
    name: str,
    objects: Iterable[dict[str, Any]],
    description: str = "",
    kubernetes: str = "",
    config: str = "",
    time: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the document that `ingest_files` reads as the same scenario. Write it with `to_yaml` or as JSON."""
    spec = {"description": description, "kubernetes": kubernetes, "config": config}
    return {
        "apiVersion": OUR_API,
        "kind": SCENARIO_KIND,
        "metadata": {"name": name},
        "spec": {**{key: value for key, value in spec.items() if value}, "objects": list(objects), **(time or {})},
    }
