"""Notes on plugins come from their documentation."""

import pytest

from kubesched_ui.presenters.plugin_notes import notes, notes_of
from scheduler_core.framework.interface import POINTS
from scheduler_core.plugins import REGISTRY


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_plugin_is_described_at_its_extension_points(name: str) -> None:
    takes_part = {point[0].upper() + point[1:] for point, kind in POINTS.items() if issubclass(REGISTRY[name], kind)}
    assert notes()[name], name
    if "Filter" in takes_part:
        assert "Filter" in notes()[name]
    assert not set(notes()[name]) - {point[0].upper() + point[1:] for point in POINTS}


def test_plain_text() -> None:
    [(plugin, text)] = notes_of(["NodeResourcesFit", "unheard of"], "Score")
    assert plugin == "NodeResourcesFit"
    assert "LeastAllocated: 100 x (allocatable - requested) / allocatable" in text
    assert "`" not in text
    assert "\n" not in text
