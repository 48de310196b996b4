"""Messages of FailedScheduling without their cluster: public ones, those of the real scheduler, and hostile text."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from scheduler_core.commands.replay import replay_case
from scheduler_core.errors import InputError
from scheduler_core.framework.fit_error import fit_error_message
from scheduler_core.messages.message import MessageAnswer, explain_message
from scheduler_core.messages.reader import (
    MAX_CHARACTERS,
    MAX_MESSAGES,
    MAX_PODS,
    explain_text,
)
from scheduler_core.messages.text import MAX_REASONS, read_message
from scheduler_core.messages.wording import WORDINGS, versions_with
from scheduler_core.plugins import PLUGINS
from scheduler_core.releases import NEWEST, RELEASES, get_release
from scheduler_core.releases.versions import numbered
from tests.conformance import golden_cases, golden_decisions, golden_sets
from tests.scheduler_core.messages.public_messages import MESSAGES, PublicMessage

GPU = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
CPU = "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable."


def only(text: str) -> MessageAnswer:
    """Return the answer to a text with one message."""
    report = explain_text(text)
    assert len(report.messages) == 1
    return report.messages[0]


def within(answer: MessageAnswer, release: str) -> bool:
    """Return whether a release is in the span that the answer names; a minor release is all its patch releases."""
    since, until = answer.releases.since, answer.releases.until
    version = numbered(get_release(release).version)
    return bool(since) and numbered(since) <= version and version[: until.count(".") + 1] <= numbered(until)


def test_there_are_enough_public_messages() -> None:
    assert len(MESSAGES) >= 20
    assert {"1.16", "1.17", "1.18", "1.20", "1.21", "1.23", "1.24", "1.26", "1.35"} <= {one.release for one in MESSAGES}


@pytest.mark.parametrize("public", MESSAGES, ids=lambda one: one.source.rpartition("github.com/")[2])
def test_public_messages_are_translated(public: PublicMessage) -> None:
    answer = only(public.text)
    assert [(reason.count, reason.kind) for reason in answer.reasons] == public.kinds
    assert (answer.releases.since, answer.releases.until) == (public.since, public.until)
    assert not public.release or within(answer, public.release)
    assert (answer.preemption is not None) == public.preemption
    assert all(reason.text.endswith(".") for reason in answer.reasons)
    assert "“" not in answer.sentence or not all(reason.known for reason in answer.reasons)


def messages_of(name: str, whole: bool) -> list[tuple[str, str, dict[str, Any]]]:
    """Return (release, message, cycle) of the real scheduler's decisions in a golden set."""
    found = []
    for case in golden_decisions(name, whole).values():
        release = get_release(case["kubernetes"].partition(" ")[0]).number
        found += [(release, cycle["fit_error"], cycle) for cycle in case.get("cycles", []) if cycle.get("fit_error")]
    return found


def check(release: str, message: str, cycle: dict[str, Any]) -> None:
    """Check that a message of a release is read without a loss, and that the release is among those guessed."""
    read = read_message(message)
    assert read is not None
    assert fit_error_message(read.nodes, {r: n for n, r in read.reasons}, read.prefilter, read.postfilter) == message
    counted: Counter[str] = Counter()
    for status in (cycle.get("filter") or {}).values():
        counted.update(status["reasons"] if isinstance(status, dict) else status)
    if not cycle.get("prefilter"):
        # A release can leave out nodes of PreFilter, or have further ones that the cycle does not list.
        assert all(number >= counted[reason] for number, reason in read.reasons)
        assert set(counted) <= {reason for _, reason in read.reasons}
    answer = explain_message(message)
    assert sorted((one.count, one.reason) for one in answer.reasons if one.count) == sorted(read.reasons)
    assert within(answer, release), (message, answer.releases)


@pytest.mark.parametrize("name", ["v1.16", "v1.24", "v1.27", "v1.37"])
def test_messages_of_the_real_scheduler(name: str) -> None:
    for release, message, cycle in messages_of(name, whole=False):
        check(release, message, cycle)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in golden_sets() if not name.startswith("plugins/")])
def test_all_messages_of_the_real_scheduler(name: str) -> None:
    for release, message, cycle in messages_of(name, whole=True):
        check(release, message, cycle)


@pytest.mark.long
@pytest.mark.parametrize("release", list(RELEASES))
def test_our_messages_of_every_release(release: str) -> None:
    """The cases of one release, decided as every release decides them."""
    seen = 0
    for case in golden_cases("v1.30"):
        try:
            decided = replay_case(case | {"kubernetes": release})
        except InputError:  # a configuration of another release
            continue
        for cycle in decided["cycles"]:
            if cycle.get("fit_error"):
                check(release, cycle["fit_error"], {})
                seen += 1
    assert seen > 50


def test_every_phrase_of_a_plugin_is_a_wording() -> None:
    reasons = [reason for plugin in PLUGINS.values() for reason in plugin.phrases]
    unread = [reason for reason in reasons if not any(one.pattern.fullmatch(reason) for one in WORDINGS)]
    assert unread == []
    assert all(versions_with(one.has) for one in WORDINGS)


def test_counts_above_the_number_of_nodes_are_explained() -> None:
    answer = only("0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory.")
    assert "add up to 4, more than the 2 nodes" in answer.counted
    assert only(CPU).counted == ""
    assert "1 node of 5 is in no reason" in only("0/5 nodes are available: 4 Insufficient cpu.").counted


def test_the_sentence_has_the_most_frequent_reason_first() -> None:
    assert only(CPU).sentence == "None of 5 nodes takes the pod: 3 lack cpu; 2 are cordoned."
    assert only(GPU).sentence == "The only node does not take the pod: it lacks nvidia.com/gpu."


def test_preemption_is_translated() -> None:
    text = (
        "0/4 nodes are available: 2 Insufficient cpu, 2 node(s) were unschedulable. preemption: 0/4 nodes are "
        "available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, 2 Preemption is not helpful "
        "for scheduling."
    )
    preemption = only(text).preemption
    assert preemption is not None
    assert preemption.sentence == "Evicting pods of lower priority helps on no node."
    assert [reason.text for reason in preemption.reasons] == [
        "2 of 4 nodes refuse the pod for a reason that evicting pods does not remove.",
        "Even without the pods of lower priority: 1 of 4 nodes lacks cpu.",
        "1 of 4 nodes runs no pod of lower priority.",
    ]
    never = only(f"{CPU} preemption: not eligible due to preemptionPolicy=Never.").preemption
    assert never is not None
    assert never.sentence == "The pod may not evict others: its preemptionPolicy is Never."


def test_preemption_of_plugins_outside_the_tree_is_translated() -> None:
    text = (
        "0/3 nodes are available: 3 Insufficient cpu. 0/3 nodes are available: 1 No victims found on node n1 for "
        "preemptor pod web, 1 No victims found on node n2 for preemptor pod web, 1 Preemption is not helpful for "
        "scheduling."
    )
    found = only(text)
    assert [(one.count, one.reason) for one in found.reasons] == [(3, "Insufficient cpu")]
    assert found.preemption is not None
    assert found.preemption.sentence == "Evicting pods helps on no node."
    assert [one.text for one in found.preemption.reasons] == [
        "2 of 3 nodes run no pod that this pod may evict.",
        "1 of 3 nodes refuses the pod for a reason that evicting pods does not remove.",
    ]


def test_unknown_reasons_are_kept() -> None:
    answer = only("0/3 nodes are available: 1 Insufficient cpu, 2 rack is on fire. Call 112, please.")
    unknown = next(reason for reason in answer.reasons if not reason.known)
    assert unknown.plugin == ""
    assert unknown.reason.startswith("rack is on fire")
    assert "out-of-tree" in unknown.meaning
    assert "Call 112, please." in unknown.text + (answer.preemption.sentence if answer.preemption else "")


def test_wordings_of_different_releases_are_reported() -> None:
    text = "0/2 nodes are available: 1 node(s) didn't match node selector, 1 node(s) had untolerated taint(s)."
    releases = only(text).releases
    assert (releases.since, releases.until) == ("", "")
    assert "No release has all of these wordings" in releases.sentence
    assert [(one.since, one.until) for one in releases.evidence] == [("1.16", "1.19"), ("1.34.2", NEWEST)]


@pytest.mark.parametrize(
    ("reason", "releases"),
    [
        ("node(s) had untolerated taint {k: v}", "1.24 to 1.34.1"),
        ("node is filtered out by the prefilter result", "1.27.14, 1.28.10, 1.29.5 and 1.30.0 to 1.30.1"),
    ],
)
def test_patch_releases_are_named(reason: str, releases: str) -> None:
    found = only(f"0/2 nodes are available: 2 {reason}.").releases
    assert f"The wording is that of Kubernetes {releases}." == found.sentence
    assert [one.releases for one in found.evidence] == [releases]


def test_commands_only_read_and_name_the_pod() -> None:
    for public in MESSAGES:
        for one in only(public.text).commands:
            assert re.match(r"kubectl (get|describe) ", one.command)
    described = (
        f"Name:         web-0\nNamespace:    shop\nEvents:\n  Warning  FailedScheduling  5s  default-scheduler  {CPU}\n"
    )
    answer = only(described)
    assert answer.pods == ["shop/web-0"]
    assert answer.commands[0].command == "kubectl describe pod web-0 -n shop"
    assert only(CPU).commands[0].command == "kubectl describe pod POD -n NAMESPACE"


def test_names_that_are_none_do_not_reach_commands() -> None:
    listing = f"4s  Warning  FailedScheduling  pod/x;rm${{IFS}}-rf  {CPU}"
    answer = only(listing)
    assert all("rm" not in one.command for one in answer.commands)


TIMED_OUT = 'running PreBind plugin "VolumeBinding": binding volumes: timed out waiting for the condition'
DESCRIBED = f"""\
Name:           web-0
Namespace:      shop
Conditions:
  Type           Status
  PodScheduled   False
Events:
  Type     Reason             Age                  From                Message
  ----     ------             ----                 ----                -------
  Warning  FailedScheduling   2m (x3 over 5m)      default-scheduler   {CPU}
  Normal   NotTriggerScaleUp  26s                  cluster-autoscaler  pod didn't trigger scale-up: 1 Insufficient cpu
  Warning  FailedScheduling   <unknown>            default-scheduler   {TIMED_OUT}
"""
EVENTS = f"""\
NAMESPACE   LAST SEEN   TYPE      REASON             OBJECT             MESSAGE
shop        39h         Warning   FailedScheduling   pod/web-0          {CPU}
shop        39h         Normal    SuccessfulCreate   replicaset/web     Created pod: web-0
other       2m57s       Warning   FailedScheduling   pod/db-0           {CPU}
"""
WIDE = f"""\
LAST SEEN   TYPE      REASON             OBJECT      SUBOBJECT   SOURCE              MESSAGE   FIRST SEEN   COUNT
4s          Warning   FailedScheduling   pod/web-0               default-scheduler   {CPU}   4s           1
"""
YAML = """\
status:
  conditions:
  - lastProbeTime: null
    message: '0/3 nodes are available: 1 node(s) didn''t match Pod''s node affinity/selector,
      2 Insufficient cpu. preemption: 0/3 nodes are available: 1 Preemption is not
      helpful for scheduling, 2 No preemption victims found for incoming pod.'
    reason: Unschedulable
"""


def test_kubectl_describe_pod() -> None:
    messages = explain_text(DESCRIBED).messages
    assert [(one.message, one.pods) for one in messages] == [
        (CPU, ["shop/web-0"]),
        (
            TIMED_OUT,
            ["shop/web-0"],
        ),
    ]
    assert messages[1].reasons[0].plugin == "VolumeBinding"


def test_kubectl_get_events() -> None:
    answer = only(EVENTS)
    assert (answer.message, answer.pods) == (CPU, ["shop/web-0", "other/db-0"])
    assert (only(WIDE).message, only(WIDE).pods) == (CPU, ["web-0"])


def test_folded_yaml() -> None:
    answer = only(YAML)
    assert [reason.kind for reason in answer.reasons] == ["insufficient-resource", "node-selector"]
    assert answer.message.endswith("2 No preemption victims found for incoming pod.")


def test_json_of_events_and_pods() -> None:
    pod = {"namespace": "shop", "name": "web-0"}
    event = {"kind": "Event", "reason": "FailedScheduling", "message": CPU, "involvedObject": pod}
    new = {"kind": "Event", "reason": "FailedScheduling", "note": CPU, "regarding": {"namespace": "b", "name": "c"}}
    answer = only(json.dumps({"kind": "List", "items": [event, new, event]}))
    assert (answer.message, answer.pods) == (CPU, ["shop/web-0", "b/c"])
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": GPU}
    answer = only(json.dumps({"kind": "Pod", "metadata": pod, "status": {"conditions": [condition]}}))
    assert (answer.message, answer.pods) == (GPU, ["shop/web-0"])


def test_a_message_that_the_scheduler_cut() -> None:
    answer = only("0/9 nodes are available: 3 Insufficient cpu, 6 node(s) had untol ...")
    assert answer.is_cut
    assert answer.counted == ""
    assert "cuts the messages" in answer.reasons[0].meaning


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("hello", "has no message of FailedScheduling"),
        ("1/3 nodes are available", "has no message of FailedScheduling"),
        ('{"kind": "Pod"}', "has no message of FailedScheduling"),
        ("0/2 nodes are unavailable: 1 plugin X predicates failed", "Volcano"),
        ("No nodes are available that match all of the following predicates:: Insufficient cpu (3)", "before 1.16"),
        ("pod didn't trigger scale-up: 1 max node group size reached", "cluster autoscaler"),
        ("[" * 100_000, "has no message of FailedScheduling"),
        ("x" * (MAX_CHARACTERS + 1), "is longer than"),
    ],
)
def test_texts_that_are_none_get_a_sentence(text: str, part: str) -> None:
    with pytest.raises(InputError, match=re.escape(part)):
        explain_text(text)


def test_input_is_bounded() -> None:
    many = "\n".join(f"0/{n} nodes are available: {n} Insufficient cpu." for n in range(1, 500))
    report = explain_text(many)
    assert len(report.messages) == MAX_MESSAGES
    assert "499 different messages" in report.remarks[0]
    reasons = ", ".join(f"1 r{n}" for n in range(3_000))
    answer = only(f"0/3000 nodes are available: {reasons}.")
    assert len(answer.reasons) == MAX_REASONS
    assert answer.more_reasons == 3_000 - MAX_REASONS
    pods = "\n".join(f"4s  Warning  FailedScheduling  pod/p-{n}  {CPU}" for n in range(1_000))
    assert len(only(pods).pods) == MAX_PODS


def test_control_characters_are_shown_as_escapes() -> None:
    answer = only("0/1 nodes are available: 1 \x1b[31mred\u202e\x00.")
    assert "\\x1b[31mred\\u202e\\x00" in answer.reasons[0].text


@pytest.mark.parametrize(
    "piece", ["0/1 nodes are available: ", "preemption: ", ", 1 ", "''", '"', ". ", "(", "{", "FailedScheduling  "]
)
def test_repetitions_take_little_time(piece: str) -> None:
    """Patterns with exponential or quadratic time would not end."""
    text = (piece * (300_000 // len(piece)))[:300_000]
    try:
        explain_text(text)
        explain_text("0/1 nodes are available: 1 " + text)
    except InputError:
        pass
