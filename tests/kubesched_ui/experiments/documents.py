"""Experiment documents for tests."""

from typing import Any


def document(*scenarios: int, **spec: Any) -> dict[str, Any]:
    """Return a document that compares seeds."""
    wanted = {"question": "compare", "scenarios": [{"id": number} for number in scenarios], "seeds": {"count": 3}}
    return {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": wanted | spec}
