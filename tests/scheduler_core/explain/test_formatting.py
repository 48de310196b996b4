"""Reasons as a person says them."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.formatting import agree
from scheduler_core.explain.phrases import phrase


@pytest.mark.parametrize(
    ("number", "reasons", "words"),
    [
        (2, ["Insufficient cpu", "Too many pods"], "lack cpu and room for another pod"),
        (1, ["Insufficient cpu", "Insufficient memory"], "lacks cpu and memory"),
        (1, ["node(s) had untolerated taint {a: b}"], "refuses it by taint a=b"),
        (1, ["no license"], "refuses it (no license)"),
        (
            1,
            ["Insufficient cpu", "Insufficient memory", "node(s) didn't match node selector"],
            "lacks cpu and memory and does not match its node selector or affinity",
        ),
        (
            3,
            ["node(s) didn't match pod affinity/anti-affinity", "node(s) didn't match pod anti-affinity rules"],
            "have a pod that it wants to be away from",
        ),
        (1, ["node(s) were not ready", "node(s) had pid pressure"], "is not ready and has PID pressure"),
        (2, [], "refuse it without a reason"),
    ],
)
def test_phrases(number: int, reasons: list[str], words: str) -> None:
    assert agree(number, phrase(reasons)) == words
