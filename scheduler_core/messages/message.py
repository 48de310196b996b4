"""Explains the message of a FailedScheduling event without its cluster: what each reason says, and the releases."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from scheduler_core.cluster.formatting import agree, count
from scheduler_core.explain.answer import Part
from scheduler_core.framework import causes
from scheduler_core.messages.advice import (
    ADVICE,
    EVERY,
    NAMESPACE,
    OTHER_REASONS,
    POD,
    UNKNOWN,
    WHICH_NODE,
    Advice,
)
from scheduler_core.messages.text import HEAD, MessageText, read_message
from scheduler_core.messages.wording import (
    NO_VICTIMS,
    NOT_HELPFUL,
    OLD_PREFIXES,
    Has,
    every_version,
    listed,
    since,
    spans,
    versions_with,
    wording_of,
)
from scheduler_core.plugins.taint_toleration import taint_obstacle
from scheduler_core.releases import Release

CUT = "..."
IS_CUT = "The scheduler cuts the messages of events after 1,024 characters, so this reason is not complete."
NAMED = 4  # reasons in the first sentence
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_OLD_ERROR = re.compile(
    r'(?P<old>error while )?running "(?P<plugin>\w+)" (?P<point>\w+) plugin(?P<pod> for pod "[^"]*")?: (?P<rest>.*)',
    re.S,
)
_ERROR = re.compile(r'running (?P<point>\w+) plugin "(?P<plugin>\w+)": (?P<rest>.*)', re.S)
_REPEATED = re.compile(r"(?P<rest>.*) \(repeated \d+ times\)", re.S)
_CLAIMS_FIRST = re.compile(
    r"(no new claims to deallocate|still not schedulable)(?:, ?|$)|\w+ of ResourceClaim completed(?:, ?|$)"
)
_NO_VICTIMS_ON = re.compile(r"No victims found on node \S{1,253} for preemptor pod \S{1,253}")
_NOT_ELIGIBLE = {
    "not eligible due to preemptionPolicy=Never": "The pod may not evict others: its preemptionPolicy is Never.",
    "not eligible due to a terminating pod on the nominated node": (
        "The pod has evicted others before and waits until they are gone."
    ),
    "not eligible due to terminating pod on the nominated node": (
        "The pod has evicted others before and waits until they are gone."
    ),
    "not eligible due to workload aware preemption enabled": "Its pod group evicts others as a whole, not one pod.",
    "no candidate node for preemption": "No node was left where evicting pods helps.",
}


class MessageReason(Part):
    """A reason. `count`: of the nodes with it, 0 if the message has no count. `plugin`: that gives it, "" if unknown.
    `kind`: a kind of docs/answers.md. `text`: what it says, a sentence. `meaning`: what that means, "" if an
    earlier reason says it. `known`: whether an in-tree plugin uses this text. `share`: of all nodes,
    in percent."""

    count: int
    reason: str
    plugin: str
    kind: str
    text: str
    meaning: str = ""
    known: bool = True
    share: float = 0.0


class MessageCommand(Part):
    """A command of kubectl that only reads, and what it shows."""

    command: str
    shows: str


class Evidence(Part):
    """A wording, and the first and the last release with it. `releases`: all of them, as text."""

    wording: str
    since: str
    until: str
    releases: str = ""


class MessageReleases(Part):
    """The releases whose scheduler writes such a message. `since` and `until` are "" if no single release does.

    A patch release, such as 1.34.1, is named if the wording changed between the patch releases of its minor release.
    """

    since: str
    until: str
    sentence: str
    evidence: list[Evidence] = []


class MessagePreemption(Part):
    """What the message says about preemption. `reasons`: why it does not help, by number of nodes."""

    sentence: str
    reasons: list[MessageReason] = []


class MessageAnswer(Part):
    """What a message says. `nodes`: of the cluster, 0 if the message has no number. `counted`: a sentence about the sum
    of the counts, "" if it is the number of nodes. `is_cut`: whether the scheduler has cut the message after 1,024
    characters, as it does for events. `snapshot`: what only a snapshot of the cluster answers."""

    message: str
    pods: list[str]
    nodes: int
    sentence: str
    reasons: list[MessageReason]
    releases: MessageReleases
    counted: str = ""
    preemption: MessagePreemption | None = None
    is_cut: bool = False
    commands: list[MessageCommand] = []
    snapshot: list[str] = []
    more_reasons: int = 0


@dataclass(slots=True)
class _Wordings:
    """The wordings of a message that tell its release."""

    found: dict[str, Has] = field(default_factory=dict)

    def add(self, text: str, has: Has) -> None:
        self.found.setdefault(text, has)

    def releases(self) -> MessageReleases:
        every = frozenset(every_version())
        narrowing = {text: those for text, has in self.found.items() if (those := versions_with(has)) != every}
        common = spans(every.intersection(*narrowing.values()))
        first, last = (common[0][0], common[-1][1]) if common else ("", "")
        evidence = [
            Evidence(text, found[0][0], found[-1][1], listed(found))
            for text, those in narrowing.items()
            if (found := spans(those))
        ]
        if not narrowing:
            sentence = f"The wording is the same in all releases from {first} to {last}."
        elif not common:
            sentence = "No release has all of these wordings: the text was changed, or it is of a changed scheduler."
        else:
            sentence = f"The wording is that of Kubernetes {listed(common)}."
        return MessageReleases(first, last, sentence, evidence)


def explain_message(text: str, pods: Sequence[str] = ()) -> MessageAnswer:
    """Explain a message. `pods`: `namespace/name`, or a name, of the pods that have it; they are used in commands."""
    message = text.strip()
    is_cut = message.endswith(CUT)
    read, wordings = read_message(message.removesuffix(CUT).rstrip()), _Wordings()
    if read is None:
        read = MessageText(0, prefilter=message)
        reasons = [_error(message, wordings)]
    else:
        reasons = _reasons(read, wordings)
    for reason in reasons:
        reason.share = min(100.0, 100 * (reason.count or read.nodes) / read.nodes) if read.nodes else 0.0
    if is_cut:
        for reason in reasons:
            if not reason.known and read.reasons and reason.reason == read.reasons[-1][1]:
                reason.text, reason.meaning = reason.text.replace("”.", "...”."), IS_CUT
    stated: set[str] = set()
    for reason in reasons:
        reason.meaning = "" if reason.meaning in stated else reason.meaning
        stated.add(reason.meaning)
    preemption = _preemption(read.postfilter, wordings)
    kinds = dict.fromkeys(reason.kind if reason.known else "" for reason in reasons)
    advice = [ADVICE.get(kind, UNKNOWN) if kind else UNKNOWN for kind in kinds]
    return MessageAnswer(
        message=message,
        pods=list(pods),
        nodes=read.nodes,
        sentence=_sentence(read, reasons),
        reasons=reasons,
        releases=wordings.releases(),
        counted="" if is_cut else _counted(read),
        preemption=preemption,
        is_cut=is_cut,
        commands=_commands(advice, reasons, pods),
        snapshot=[WHICH_NODE, *dict.fromkeys(one.snapshot for one in advice if one.snapshot), *OTHER_REASONS],
        more_reasons=read.more,
    )


def is_known_error(text: str) -> bool:
    """Return whether a text is the message of an attempt that ended before it had looked at nodes."""
    return _error(text.strip(), _Wordings()).known


def _counts_rejection(release: Release) -> bool:
    return release.prefilter_rejection_counts_all_nodes


def _names_rejection_once(release: Release) -> bool:
    return not release.prefilter_rejection_counts_all_nodes


def _reasons(read: MessageText, wordings: _Wordings) -> list[MessageReason]:
    """Return the reasons of a message, most nodes first."""
    if read.prefilter:
        wordings.add(
            f"a reason for all nodes without a count (“{read.prefilter[:60]}”)",
            _names_rejection_once,
        )
        return [_reason(0, read.nodes, read.prefilter, wordings)]
    found = [_reason(number, read.nodes, reason, wordings) for number, reason in read.reasons]
    if any(_is_of_prefilter(reason.reason) for reason in found):
        wordings.add(
            "a reason of the whole pod that is counted for each node",
            _counts_rejection,
        )
    return sorted(found, key=lambda reason: -reason.count)


def _is_of_prefilter(reason: str) -> bool:
    wording = wording_of(reason)
    return wording is not None and wording.about_pod and wording.plugin == "VolumeBinding"


def _reason(number: int, nodes: int, reason: str, wordings: _Wordings) -> MessageReason:
    wording = wording_of(reason)
    if wording is None:
        who = f"{_of(number, nodes)}: " if nodes else ""
        return MessageReason(number, reason, "", causes.PLUGIN, f"{who}“{reason}”.", UNKNOWN.meaning, known=False)
    wordings.add(reason, wording.has)
    kind, words = wording.kind, wording.says(reason)
    taint = wording.pattern.fullmatch(reason) if kind == causes.UNTOLERATED_TAINT else None
    if taint is not None and "key" in taint.groupdict():
        name = f"{taint['key']}={taint['value']}" if taint["value"] else taint["key"]
        obstacle = taint_obstacle(taint["key"], name, 1.0)
        kind, words = obstacle.kind, obstacle.phrase
    if reason in OLD_PREFIXES:
        words = "break its affinity or anti-affinity to other pods"
    text = f"{words}." if wording.about_pod else f"{_of(number, nodes)} {agree(number or nodes, words)}."
    return MessageReason(number, reason, wording.plugin, kind, text[:1].upper() + text[1:], ADVICE[kind].meaning)


def _of(number: int, nodes: int) -> str:
    if not number:
        return f"All {count(nodes)}" if nodes else "The pod"
    return f"{number:,} of {count(nodes)}"


def _error(message: str, wordings: _Wordings) -> MessageReason:
    """Return the reason in the message of an attempt that looked at no node, or ended in an error."""
    if message == "no nodes available to schedule pods":
        return MessageReason(0, message, "", causes.NO_NODES, "The scheduler knows no node.", "")
    if message.startswith("skip schedule deleting pod"):
        return MessageReason(0, message, "", causes.ERROR, "The pod is being deleted, so it is not scheduled.", "")
    rest, plugin, begin = message, "", ""
    if repeated := _REPEATED.fullmatch(rest):
        rest = repeated["rest"]
        wordings.add("(repeated ... times)", lambda release: release.predicates)
    if failed := _OLD_ERROR.fullmatch(rest):
        rest, plugin, begin = failed["rest"], failed["plugin"], f"{failed['point']} of {failed['plugin']} failed: "
        old, names_pod = failed["old"] is not None, failed["pod"] is not None
        if failed["point"] == "filter":
            wordings.add(
                "error while running ..." if old else "running ...",
                lambda release: not release.predicates and release.filter_error_reworded != old,
            )
            if not old:
                text = "the pod's name in the error" if names_pod else "no name of the pod in the error"
                wordings.add(text, lambda release: release.filter_errors_name_pod == names_pod)
    elif failed := _ERROR.fullmatch(rest):
        rest, plugin, begin = failed["rest"], failed["plugin"], f"{failed['point']} of {failed['plugin']} failed: "
    wording = wording_of(rest)
    if wording is not None and (wording.about_pod or begin):
        wordings.add(rest, wording.has)
        text = f"{begin}{wording.says(rest)}."
        kind = wording.kind
        return MessageReason(
            0, message, plugin or wording.plugin, kind, text[:1].upper() + text[1:], ADVICE[kind].meaning
        )
    if begin:
        text = f"{begin}“{rest}”."
        return MessageReason(
            0, message, plugin, causes.ERROR, text[:1].upper() + text[1:], ADVICE[causes.ERROR].meaning
        )
    return MessageReason(0, message, "", causes.PLUGIN, f"“{message}”.", UNKNOWN.meaning, known=False)


def _preemption(postfilter: str, wordings: _Wordings) -> MessagePreemption | None:
    """Return what PostFilter added to the message; None if it added nothing."""
    text, begin = postfilter, ""
    if not text:
        return None
    if first := _CLAIMS_FIRST.match(text):
        wordings.add(first[0].rstrip(", "), since("1.26"))  # behind a feature gate until 1.33
        begin = "No ResourceClaim of the pod can be given back to change that. "
        text = text[first.end() :]
    if HEAD.match(text):
        return _preemption_of_others(text, begin, wordings)
    if not text.startswith("preemption:"):
        return MessagePreemption(f"{begin}{f'The message ends with “{text}”.' if text else ''}".strip())
    wordings.add("preemption: ...", lambda release: release.reports_postfilter_message)
    text = text.removeprefix("preemption:").strip()
    nested = read_message(text)
    if nested is None:
        known = _NOT_ELIGIBLE.get(text.rstrip("."))
        return MessagePreemption(begin + (known or f"Preemption does not help: “{text}”."))
    if text.endswith(".."):
        wordings.add("two full stops at the end", lambda release: release.postfilter_message_suffix == ".")
    reasons = [_reason(number, nested.nodes, reason.rstrip("."), wordings) for number, reason in nested.reasons]
    for reason in reasons:
        reason.meaning = ""
        if reason.known and reason.reason not in (NO_VICTIMS, NOT_HELPFUL):
            reason.text = f"Even without the pods of lower priority: {reason.text[:1].lower()}{reason.text[1:]}"
    return MessagePreemption(f"{begin}{_no_help(reasons)}", sorted(reasons, key=lambda reason: -reason.count))


def _preemption_of_others(text: str, begin: str, wordings: _Wordings) -> MessagePreemption:
    """Return what PreemptionToleration and CapacityScheduling of scheduler-plugins added, which name each node."""
    nested = read_message(text) or MessageText(0)
    without, reasons = 0, []
    for number, reason in nested.reasons:
        if _NO_VICTIMS_ON.fullmatch(reason.rstrip(".")):
            without += number
        else:
            reasons.append(_reason(number, nested.nodes, reason.rstrip("."), wordings))
            reasons[-1].meaning = ""
    if without:
        text = f"{_of(without, nested.nodes)} {agree(without, 'run no pod that this pod may evict')}."
        reasons.append(MessageReason(without, "No victims found", "", causes.PLUGIN, text, ""))
    return MessagePreemption(
        f"{begin}Evicting pods helps on no node.", sorted(reasons, key=lambda reason: -reason.count)
    )


def _no_help(reasons: Sequence[MessageReason]) -> str:
    only = {reason.reason for reason in reasons}
    if only == {NOT_HELPFUL}:
        return "Evicting pods helps on no node: it does not remove the reasons."
    if only == {NO_VICTIMS}:
        return "Evicting pods helps on no node: none runs a pod of lower priority."
    return "Evicting pods of lower priority helps on no node."


def _sentence(read: MessageText, reasons: Sequence[MessageReason]) -> str:
    """Return the first sentence: why no node takes the pod, most nodes first."""
    if not read.nodes and read.prefilter:
        return reasons[0].text if reasons else ""
    total = f"None of {count(read.nodes)} takes the pod" if read.nodes != 1 else "The only node does not take the pod"
    shown = [_short(reason, read.nodes) for reason in reasons if reason.reason not in OLD_PREFIXES or len(reasons) == 1]
    if not shown:
        return f"{total}. The message has no reason."
    rest = len(shown) - NAMED
    parts = shown[:NAMED] + ([f"and {count(rest, 'further reason')}"] if rest > 0 else [])
    return f"{total}: {'; '.join(parts)}."


def _short(reason: MessageReason, nodes: int) -> str:
    text = reason.text.removesuffix(".").replace(
        f"1 of {count(nodes)}" if nodes == 1 else f" of {count(nodes)}", "it" if nodes == 1 else "", 1
    )
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _counted(read: MessageText) -> str:
    """Return a sentence about the sum of the counts; "" if each node is counted once."""
    total = sum(number for number, _ in read.reasons)
    if not read.reasons or total == read.nodes or read.more:
        return ""
    if total > read.nodes:
        return (
            f"The counts add up to {total:,}, more than the {count(read.nodes)}: a node is counted once for each of "
            f"its reasons, such as cpu and memory."
        )
    return (
        f"{count(read.nodes - total)} of {read.nodes:,} {'is' if read.nodes - total == 1 else 'are'} in no reason: "
        "PreFilter had left them out, or the text is not complete."
    )


def _commands(advice: Iterable[Advice], reasons: Sequence[MessageReason], pods: Sequence[str]) -> list[MessageCommand]:
    namespace, _, name = pods[0].rpartition("/") if pods else ("", "", "")
    pod = name if _NAME.fullmatch(name) else POD
    at = namespace if _NAME.fullmatch(namespace) else NAMESPACE
    wanted = dict([*EVERY, *_of_resources(reasons), *(pair for one in advice for pair in one.commands)])
    return [
        MessageCommand(re.sub(rf"\b{NAMESPACE}\b(?!:)", at, re.sub(rf"\b{POD}\b", pod, command)), shows)
        for command, shows in wanted.items()
    ]


def _of_resources(reasons: Sequence[MessageReason]) -> Iterator[tuple[str, str]]:
    for reason in reasons:
        resource = reason.reason.removeprefix("Insufficient ")
        if reason.kind == causes.INSUFFICIENT_RESOURCE and "/" in resource:
            field_path = resource.replace(".", "\\.")
            columns = f"NAME:.metadata.name,ALLOCATABLE:.status.allocatable.{field_path}"
            yield f"kubectl get nodes -o 'custom-columns={columns}'", f"the nodes that have {resource}"
