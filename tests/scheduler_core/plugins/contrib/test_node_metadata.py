"""NodeMetadata: numbers and times of nodes, as its sources say; there are no recorded decisions of it."""

from typing import Any

import msgspec
import pytest

from scheduler_core.errors import InputError
from scheduler_core.plugins.contrib.node_metadata import parse_float
from scheduler_core.search.provenance import Question
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.provenance.cases import explained
from tests.scheduler_core.provenance.evaluate import problems

LEAST = -(2**63)


def config(strategy: str, source: str = "Label", **args: Any) -> Raw:
    kind = "Number" if strategy in ("Highest", "Lowest") else "Timestamp"
    given = {"metadataKey": "rank", "metadataSource": source, "metadataType": kind, "scoringStrategy": strategy}
    plugins = {"score": {"enabled": [{"name": "NodeMetadata"}], "disabled": [{"name": "*"}]}}
    return {"profiles": [{"plugins": plugins, "pluginConfig": [{"name": "NodeMetadata", "args": given | args}]}]}


def scores(values: list[str | None], **given: Any) -> tuple[list[int], list[int]]:
    """Return the raw and the normalised scores of nodes with these values."""
    key = "annotations" if given.get("source") == "Annotation" else "labels"
    nodes = [node(f"n{i}") for i in range(len(values))]
    for one, value in zip(nodes, values, strict=True):
        one["metadata"][key] = {} if value is None else {"rank": value}
    (trace,) = Simulation([*nodes, pod("a")], config=config(**given), tie_break="name").run()
    found = trace.scores["NodeMetadata"]
    return found.raw.tolist(), found.normalized.tolist()


@pytest.mark.parametrize(
    ("values", "given", "expected"),
    [
        (["10", "20.9", "30", None], {"strategy": "Highest"}, ([10, 20, 30, LEAST], [1, 50, 100, 0])),
        (["10", "20", "x", "-5"], {"strategy": "Lowest"}, ([-10, -20, LEAST, 5], [40, 1, 0, 100])),
        (["7", "7", "1e30"], {"strategy": "Highest"}, ([7, 7, LEAST], [1, 1, 0])),
        ([None, ""], {"strategy": "Highest"}, ([LEAST, LEAST], [0, 0])),
        (
            ["2026-01-31T23:59:00Z", "2026-02-01T01:00:00+02:00", "2026-01-31"],
            {"strategy": "Newest", "source": "Annotation"},
            ([-60, -3600, LEAST], [100, 1, 0]),
        ),
        (
            ["2026-01-31T23:59:00Z", "2026-01-31T23:00:00Z"],
            {"strategy": "Oldest", "source": "Annotation"},
            ([60, 3600], [1, 100]),
        ),
    ],
)
def test_scores(values: list[str | None], given: Any, expected: Any) -> None:
    assert scores(values, **given) == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.", 1), (".5", 0.5), ("0x1p4", 16), ("1_0", None), (" 1", None), ("inf", None), ("nan", None), ("1e999", None)],
)
def test_numbers_are_read_as_in_go(text: str, number: float | None) -> None:
    assert parse_float(text) == number


def test_scores_are_explained() -> None:
    objects = [*(node(f"n{i}", labels={"rank": str(value)}) for i, value in enumerate((5, 8, 9))), node("n3"), pod("a")]
    known = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}
    for name, raw, normalized in (("n0", 5, 1), ("n1", 8, 75), ("n2", 9, 100), ("n3", LEAST, 0)):
        for point, value in (("raw", raw), ("normalized", normalized)):
            found = explained(objects, Question(point, name, "NodeMetadata"), config=config("Highest"))
            tree = msgspec.to_builtins(found)
            assert tree["value"] == value
            assert list(problems(tree, known)) == []


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"metadataKey": ""}, "metadataKey cannot be empty"),
        ({"metadataSource": "Field"}, 'must be either "Label" or "Annotation"'),
        ({"scoringStrategy": "Newest"}, 'are only valid for metadataType "Timestamp"'),
        ({"metadataType": "Timestamp"}, 'scoringStrategy "Highest" and "Lowest" are only valid for metadataType "Num'),
        (
            {"scoringStrategy": "Newest", "metadataType": "Timestamp", "timestampFormat": "2006"},
            "is simulated, got 2006",
        ),
    ],
)
def test_arguments_are_checked(given: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        Simulation([node("n1")], config=config("Highest", **given))
    assert problem in str(refused.value)
