"""Short node names keep the characters that differ."""

import pytest

from kubesched_ui.presenters.node_names import shortened


@pytest.mark.parametrize(
    ("names", "size", "labels", "suffix"),
    [
        (["a-1.example.com", "a-2.example.com"], 28, ["a-1", "a-2"], ".example.com"),
        (["pool-standard-blue-17", "pool-standard-blue-18"], 10, ["pool-sta…7", "pool-sta…8"], ""),
        (["n1", "n2"], 28, ["n1", "n2"], ""),
        (["only.example.com"], 8, ["only.example.com"], ""),
        ([".example.com", "a.example.com"], 28, [".example.com", "a.example.com"], ""),
        ([], 28, [], ""),
    ],
)
def test_names(names: list[str], size: int, labels: list[str], suffix: str) -> None:
    assert shortened(names, size) == (labels, suffix)
