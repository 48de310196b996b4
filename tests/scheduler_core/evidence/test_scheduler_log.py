"""A log of kube-scheduler as a timeline, and compared with a snapshot."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.errors import InputError
from scheduler_core.evidence.scheduler_log import PluginScore, SchedulerLog, is_scheduler_log, read
from tests.scheduler_core.evidence.logs import LIFE, NO_FIT, json_lines, text


def log_of(found: str) -> SchedulerLog:
    assert is_scheduler_log(found.encode())
    return read(found.encode(), "log")


PREFIX = "[pod/kube-scheduler-cp/kube-scheduler] 2026-11-28T17:25:30.57Z "
FORMS = {
    "text": text(),
    "JSON": json_lines(),
    "of kubectl logs --prefix --timestamps": text(before=PREFIX),
    "of a container runtime": text(before="2026-11-28T17:25:30.57Z stderr F "),
    "of journald": text(before="Nov 28 17:25:30 cp kube-scheduler[18787]: "),
    "of Docker": "".join(json.dumps({"log": f"{line}\n", "stream": "stderr"}) + "\n" for line in text().splitlines()),
    "with lines of Windows": text().replace("\n", "\r\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_the_same(form: str) -> None:
    log = log_of(FORMS[form])
    first, second, third = log.attempts
    assert (first.pod, first.result, first.node, first.evaluated, first.feasible) == ("shop/a", "scheduled", "n2", 2, 2)
    assert (first.time, first.bound, first.seconds) == (0.012, 0.02, 0.008)
    assert [(one.node, one.total) for one in first.scores] == [("n2", 345), ("n1", 340)]
    assert first.scores[1].plugins == {
        "TaintToleration": PluginScore(300, 100),
        "NodeResourcesFit": PluginScore(40, 40, raw=40),
    }
    assert (second.pod, second.result, second.message, second.queue) == (
        "shop/b", "unschedulable", NO_FIT, "Unschedulable",
    )  # fmt: skip
    assert (second.plugins, second.nominated_node, second.victims) == (
        ["NodeResourcesFit", "TaintToleration"], "n2", ["shop/a"],
    )  # fmt: skip
    assert (third.group, third.result, third.message) == ("shop/g", "error", 'the "API" is away')
    assert [(one.pod, one.what) for one in log.occurrences] == [
        ("shop/a", "added"), ("shop/a", "queued"), ("shop/b", "added"), ("shop/b", "queued"), ("shop/a", "preempted"),
        ("shop/a", "deleted"), ("shop/c", "added"), ("shop/c", "gated"),
    ]  # fmt: skip
    assert {one.pod: one.state for one in log.pods} == {
        "shop/a": "gone", "shop/b": "pending", "shop/c": "gated", "shop/g-0": "pending",
    }  # fmt: skip
    assert (log.version, log.notes) == ("v1.36.2", [])


def test_a_low_level_and_the_end_of_a_year() -> None:
    few = [line for line in LIFE if line[2].startswith(("Successfully", "Unable"))]
    log = log_of(text(few) + text(few[1:]).replace("I1231 23:59:59.033", "I0101 00:00:00.033"))
    assert [(one.pod, one.result, one.number) for one in log.attempts] == [
        ("shop/a", "scheduled", 1), ("shop/b", "unschedulable", 1), ("shop/b", "unschedulable", 2),
    ]  # fmt: skip
    assert log.attempts[-1].time == pytest.approx(1.013)
    assert [note.split(" below ")[-1] for note in log.notes] == [
        "-v=3: each result stands for an attempt", "-v=5", "-v=10",
    ]  # fmt: skip


def test_schedulers_whose_lines_are_mixed_and_a_value_of_several_lines() -> None:
    one, other = "[pod/a/kube-scheduler] ", "[pod/b/kube-scheduler] "
    lines = text().splitlines()
    begin = 'I1231 23:59:59.000000   18787 configfile.go:94] "Using component config" config=<'
    mixed = [f"{one}{begin}", f"{one}\tkind: KubeSchedulerConfiguration", f"{other}{lines[4]}", f"{one}\tprofiles: []"]
    log = log_of("\n".join([*mixed, f"{one} >", *lines, ""]))
    assert log.configuration == "kind: KubeSchedulerConfiguration\nprofiles: []"
    assert log.attempts[0].source == "pod/b/kube-scheduler"


def test_lines_with_secrets_and_cut_lines_are_left_out() -> None:
    secret = (70, "schedule_one.go:1243", "Error scheduling pod; retrying",
              {"pod": "shop/z", "err": "Post: Authorization: Bearer s3cr3ttoken"})  # fmt: skip
    cut = text(LIFE[:-1]) + text([secret]) + text(LIFE[-1:])[:-12]
    log = log_of(cut)
    assert "s3cr3t" not in repr(log)
    assert log.notes == [
        "left out, because of a token or a certificate: 1 line",
        f"left out, because not complete: 1 line (line {len(cut.splitlines())})",
    ]
    assert "shop/z" not in {one.pod for one in log.attempts}


def test_a_number_at_the_very_end_may_be_cut() -> None:
    lines = [line for line in LIFE if line[1] == "schedule_one.go:481"]
    assert log_of(text(lines)).attempts[0].feasible == 2
    with pytest.raises(InputError, match="no line of kube-scheduler about a pod"):
        read(text(lines).rstrip("\n").encode(), "log")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_logs_end_in_a_sentence(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([form.encode() for form in FORMS.values()]))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(start, min(len(whole), start + 200)))
        whole = whole[:start] + data.draw(st.binary(max_size=20)) + whole[end:]
    with suppress(InputError):
        log = read(whole, "log")
        assert log.attempts or log.occurrences
