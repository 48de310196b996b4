"""Moving pictures: their moments agree with the run, exist, and answer no later question."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import pytest
from django.utils.html import strip_tags

from kubesched_ui.lessons import catalog, lint, parser, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.lessons.formatting import shown
from kubesched_ui.lessons.functions import Facts

KINDS: tuple[str, ...] = get_args(get_type_hints(parser.MovingPicture)["shows"])
SHARED = """claims: {}
scenario:
  objects:
    - {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
    - {kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
    - {kind: Pod, metadata: {name: late}, spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
"""


def drawn(name: str, step: int) -> tuple[Facts, list[tuple[str, str]], dict[str, Any]]:
    """Return the facts of a step, its moments as (second, text), and its picture."""
    lesson = catalog.lesson(name)
    assert lesson is not None
    picture = step_state.shows(lesson, step, revealed=True)["moving"]
    return lesson.facts(step), [(one.when, strip_tags(one.text)) for one in picture["moments"]], picture


def problem_of(picture: str, second: str = "", run: str = "") -> str:
    """Return the problem of a lesson whose first step has the picture. `second`: another step."""
    steps = f"  - {{title: One, focus: {{pod: web, point: filter}}, picture: {picture}, ask: {{kind: lands}}}}\n"
    steps += f"  - {second}\n" if second else ""
    text = f"---\ntitle: Small\nsummary: Small.\n{SHARED}{run}steps:\n{steps}---\n\n## One\n" + (
        "\n## Two\n" * bool(second)
    )
    try:
        lint.check_lesson(Lesson(parser.parsed("small", text.encode())))
    except LessonError as problem:
        return str(problem)
    return ""


def test_the_course_has_a_picture_of_each_kind() -> None:
    lessons = catalog.lessons()[0]
    found = {step.picture.shows for lesson in lessons for step in lesson.steps if step.picture is not None}
    assert found == set(KINDS)


def test_the_queue_moves_as_the_run_did() -> None:
    facts, moments, picture = drawn("the-queue", 3)
    assert [when for when, text in moments if "Attempt" in text] == [
        shown(facts.time_of("unlucky", attempt)) for attempt in (2, 3, 4, 5)
    ]
    backoffs = [text.partition("Its backoff of ")[2].partition(" begins")[0] for _, text in moments if "fails" in text]
    assert backoffs == [shown(facts.backoff("unlucky", attempt)) for attempt in (2, 3, 4)]
    moves = picture["data"]["stretch"]["moves"]
    assert max(moves["t"]) == 19, "what follows is not sent"


def test_victims_fall_back_in_the_order_of_the_dry_run() -> None:
    facts, moments, picture = drawn("preemption-victims", 1)
    texts = [text for _, text in moments]
    assert [text.partition(",")[0] for text in texts if "is a victim" in text] == facts.victims("boss")
    gone = [one["postfilter"]["candidates"][0]["victims"] for one in picture["data"]["cycles"][1:]]
    high, middle, low = "default/high", "default/middle", "default/old-low"
    assert gone == [[high, middle, low], [middle, low], [low], [low]]
    assert "nominated" not in texts[-1], "the next step asks about the result"
    assert [one["victims"] for one in picture["data"]["cycles"]] == [[]] * 5


def test_scores_add_up_to_the_totals() -> None:
    facts, moments, picture = drawn("raw-normalised-weighted", 4)
    rows = [[(row["node"], row["total"]) for row in one.body["score_chart"]["rows"]] for one in picture["moments"]]
    assert rows[0] == [(node, 0) for node, _ in rows[0]]
    assert rows[-1] == [(node, facts.total("picky", node)) for node, _ in rows[-1]]
    assert all(dict(a)[node] <= dict(b)[node] for a, b in pairwise(rows) for node, _ in rows[0])
    assert moments[-1][1].startswith(f"{facts.node_of('picky')} has the highest total, {rows[-1][0][1]}")


def test_the_search_starts_where_the_last_one_stopped() -> None:
    facts, moments, picture = drawn("percentage-of-nodes", 2)
    starts = [text for _, text in moments if "starts at" in text and "position" in text]
    assert [int(re.findall(r"position (\d+)", text)[0]) for text in starts] == [1, facts.looked("first") + 1]
    seen = [sum(last - first + 1 for first, last in one["feasible"]) for one in picture["data"]["cycles"]]
    assert seen == [0, 25, 50, 75, 100] * 2
    assert picture["data"]["cycles"][-1]["feasible"] == [[0, 49], [100, 149]]


def test_the_spread_counts_the_pods_of_each_zone() -> None:
    facts, moments, picture = drawn("topology-spread", 3)
    assert [text for _, text in moments if " goes to " in text] == [
        f"{pod} goes to {facts.node_of(pod)}." for pod in ("shop-2", "shop-3", "shop-4")
    ]
    counts = [[row["matching"] for row in one.body["domains"]] for one in picture["moments"]]
    assert counts[:7] == [[1, 1, 0], [1, 1, 1], [1, 1, 1], [2, 1, 1], [2, 1, 1], [2, 2, 1], [2, 2, 1]]
    skews = [row["skew"] for row in picture["moments"][6].body["domains"]]
    assert skews == [2, 2, 1]
    placed = [number for number, one in enumerate(picture["data"]["cycles"]) if one["node"]]
    assert placed == [1, 3, 5]


def test_the_cache_is_ahead_of_the_api_server() -> None:
    _, moments, picture = drawn("the-cache", 3)
    columns = [[[pod for pod, _ in cell["pods"]] for cell in one.body["rows"][0][1]] for one in picture["moments"]]
    first, second = ["first"], ["second"]
    assert columns == [
        [[], [], []], [[], [], []], [[], first, []], [[], first, first], [[], first, first], [[], [], first],
        [[], [], []], [[], second, []], [[], second, second], [[], second, second], [second, second, second],
    ]  # fmt: skip
    assert moments[5] == ("5 s", moments[5][1])
    assert moments[5][1].endswith("The cache forgets first.")


def test_an_event_moves_the_pods_that_the_run_moved() -> None:
    facts, moments, _ = drawn("events-and-hints", 2)
    by_second = [(when, text) for when, text in moments if when != "0 s"]
    assert [when for when, text in by_second if "moves no pod" in text] == ["10 s", "15 s"]
    assert (shown(facts.woken_at("alone", 2)), True) in [(when, "moves alone from" in text) for when, text in by_second]
    assert any(facts.event_of("alone", 2) in text for _, text in by_second)


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        ("{shows: film}", "Invalid enum value 'film'"),
        ("{shows: queue}", "must have `to`, a second"),
        ("{shows: queue, from: 5, to: 2}", "must not be before `from`, 5 s"),
        ("{shows: cache, to: 5, since: web}", "no `since`"),
        ("{shows: scores, to: 5}", "must not have `to`"),
        ("{shows: queue, to: 5}", "must be in virtual time"),
        ("{shows: search, since: none}", "the run never tried pod 'default/none'"),
        ("{shows: search, since: late}", "late is tried after the pod in focus"),
        ("{shows: victims}", "did not run in this cycle"),
        ("{shows: spread}", "PodTopologySpread did not run in these cycles"),
        ("{shows: scores}", "no node was scored in this cycle"),
    ],
)
def test_a_picture_without_its_moments_is_refused(picture: str, message: str) -> None:
    assert message in problem_of(picture)


def test_seconds_without_a_move_are_refused() -> None:
    assert "nothing moves in the queue from 500.0 to 600.0 s" in problem_of(
        "{shows: queue, from: 500, to: 600}", run="runs: {run: {inTime: true}}\n"
    )


def test_no_picture_answers_a_later_question() -> None:
    asks = "{title: Two, focus: {pod: late, point: filter}, ask: {kind: lands}}"
    timed = "runs: {run: {inTime: true}}\n"
    found = problem_of("{shows: queue, to: 10}", asks, timed)
    assert "steps[0].picture: shows attempt 1 of default/late, about which a later step asks" in found


def test_a_change_has_no_picture() -> None:
    change = "{title: Two, focus: {pod: web, point: filter}, picture: {shows: search}, ask: {kind: change, text: x}}"
    assert "steps[1].picture: is not for a step that asks for a change" in problem_of("{shows: search}", change)


def test_a_picture_waits_for_the_answer() -> None:
    for lesson in catalog.lessons()[0]:
        for number, step in enumerate(lesson.steps, 1):
            if step.picture is not None and step.ask is not None:
                assert ("moving" in step_state.shows(lesson, number)) is step_state.is_past(lesson, number)
                assert "moving" in step_state.shows(lesson, number, revealed=True)


def test_the_path_of_a_pod_ends_before_the_attempt_of_a_later_question() -> None:
    lesson = catalog.lesson("the-queue")
    assert lesson is not None
    seconds = [
        {one["t"] for one in step_state.shows(lesson, step, revealed=True)["found"]["way"]} for step in (1, 2, 4)
    ]
    assert seconds == [{"0 s"}, {"0 s", "2 s", "5 s"}, {"0 s", "330 s", "355 s"}]
