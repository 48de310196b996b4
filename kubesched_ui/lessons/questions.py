"""Questions about a run. Options are known before the step is revealed; the right answer is computed and never sent.

Pages may show `options`. `judge` is a pure function from question and answer to verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kubesched_ui.event_log.event_text import event_sentence
from kubesched_ui.lessons import changes
from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.expressions import evaluate
from kubesched_ui.lessons.formatting import Amount, Seconds, same, shown
from kubesched_ui.lessons.functions import NO_RULE, NOWHERE, ONE_CANDIDATE, Facts
from kubesched_ui.lessons.parser import Ask, Focus
from scheduler_core.api import quantity
from scheduler_core.api.duration import seconds
from scheduler_core.preemption.pick_one_node import RULES

MAX_ANSWERS, MAX_CHARS, MAX_OPTIONS = 60, 300, 60
PASSES = "none: it passes"
CHOICES = ("refuses", "rule", "woken", "lands", "choice")
SETS = ("passes", "victims", "which")
FORMS = dict.fromkeys(CHOICES, "choice") | dict.fromkeys(SETS, "set") | {"order": "order", "change": "change"}
TEXTS = {
    "passes": "Which nodes pass all filters?",
    "refuses": "Which plugin rejects the node?",
    "score": "What is the score?",
    "order": "In which order does kube-scheduler rank these nodes? Begin with the best node.",
    "victims": "Which pods are evicted? Select none if no pod is evicted.",
    "rule": "Which rule decides between the nodes?",
    "when": "At which second of the run does the attempt begin?",
    "woken": "Which event moves the pod back to the active queue?",
    "lands": "On which node is the pod placed?",
    "number": "What is the number?",
    "which": "Which of these are true?",
    "choice": "Which of these is true?",
    "change": "Change one field to reach the goal.",
}


@dataclass(frozen=True)
class Question:
    """A question. `facts`: with the step's focus and without hidden values."""

    ask: Ask
    facts: Facts

    @property
    def focus(self) -> Focus:
        return self.facts.focus

    @property
    def form(self) -> str:
        """The form of the answer: choice, set, order, change or number."""
        return FORMS.get(self.ask.kind, "number")

    @property
    def text(self) -> str:
        return self.ask.text or TEXTS[self.ask.kind]

    def truths(self) -> list[Any]:
        """Return the truth value of each of the question's own options."""
        return [evaluate(self.ask.option(text).if_, self.facts) for text in self.ask.options]


def options(question: Question) -> list[str]:
    """Return the options, in an order that does not reveal the answer. Raises Unknown."""
    ask, facts, focus = question.ask, question.facts, question.focus
    match ask.kind:
        case "passes" | "order":
            found = _compared(question)
        case "lands":
            found = [*facts.nodes(), NOWHERE]
        case "refuses":
            found = [*facts.find(focus.pod, focus.attempt).as_dict["filter_order"], PASSES]
        case "victims":
            found = [pod for node in facts.nodes() for pod in facts.node(node)["pods"]]
            found = sorted(key.removeprefix("default/") for key in found)
        case "rule":
            found = [*(name for name, _ in RULES), ONE_CANDIDATE, NO_RULE]
        case "woken":
            found = _events(facts)
        case "which" | "choice":
            found = list(ask.options)
        case "change":
            found = list(ask.fields)
        case _:
            found = []
    if len(found) > MAX_OPTIONS:
        raise Unknown(f"has {len(found)} options; the maximum is {MAX_OPTIONS}")
    return found


def answer(question: Question) -> Any:
    """Return the right answer: a text, a list of texts, or a number. Raises Unknown."""
    ask, facts, focus = question.ask, question.facts, question.focus
    match ask.kind:
        case "passes":
            return facts.call("feasible", [focus.pod], {})
        case "lands":
            return facts.call("node_of", [focus.pod], {})
        case "refuses":
            found = facts.call("refuser", [focus.pod, focus.node], {})
            return PASSES if found == "none" else found
        case "victims":
            return facts.call("victims", [focus.pod], {})
        case "rule":
            return facts.rule(focus.pod)
        case "woken":
            move = facts.woke(focus.pod)
            return _event_text(move.t, move.cause.text if move.cause else move.event)
        case "when":
            return Seconds(facts.find(focus.pod, focus.attempt).t)
        case "score":
            return _score(question)
        case "order":
            return sorted(_compared(question), key=lambda node: -ranked_by(question, node))
        case "which" | "choice":
            right = [text for text, true in zip(ask.options, question.truths(), strict=True) if true]
            if ask.kind == "choice" and len(right) != 1:
                raise Unknown(f"must have exactly one true option, has {len(right)}")
            return right if ask.kind == "which" else right[0]
        case "change":
            return ask.solution
    found = evaluate(ask.of, facts)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Unknown(f"is {shown(found)[:60]!r}, which is not a number")
    return found


@dataclass(frozen=True)
class Verdict:
    """The result of an answer. `given`: the parsed answer. `problem`: why it is not a valid answer."""

    right: bool
    given: Any = None
    problem: str = ""


def judge(question: Question, answers: Sequence[str]) -> Verdict:
    """Judge an answer. Raises Unknown if the question has no answer. `answers`: the chosen options; for an order the
    place of each option; for a number its text."""
    answers = [text.strip()[:MAX_CHARS] for text in answers[:MAX_ANSWERS]]
    form = question.form
    if form == "number":
        return _judge_number(question, answers)
    known = options(question)
    if form == "order":
        return _judge_order(question, known, answers)
    if form == "change":
        return _judge_change(question, answers)
    if any(text not in known for text in answers) or (form == "choice" and len(answers) != 1):
        return Verdict(False, problem="Choose one of the options." if form == "choice" else "Choose from the options.")
    right = answer(question)
    if form == "choice":
        return Verdict(answers[0] == right, answers[0])
    return Verdict(set(answers) == set(right), list(dict.fromkeys(answers)))


def _judge_number(question: Question, answers: Sequence[str]) -> Verdict:
    right = answer(question)
    try:
        given = number_of("".join(answers[:1]), unit_of(question))
    except ValueError:
        return Verdict(False, problem=f"Enter a number{_unit_hint(unit_of(question))}.")
    return Verdict(same(given, right), given)


def _judge_order(question: Question, known: list[str], answers: Sequence[str]) -> Verdict:
    places = [int(text) if text.isascii() and text.isdigit() else 0 for text in answers]
    if sorted(places) != list(range(1, len(known) + 1)):
        return Verdict(False, problem=f"Give each option a different place, from 1 to {len(known)}.")
    given = [known[places.index(place)] for place in range(1, len(known) + 1)]
    values = [ranked_by(question, one) for one in given]
    return Verdict(values == sorted(values, reverse=True), given)


def _judge_change(question: Question, answers: Sequence[str]) -> Verdict:
    if len(answers) != 2 or answers[0] not in question.ask.fields:
        return Verdict(False, problem="Choose a field and enter its new value.")
    try:
        facts = changed(question, answers)
    except Unknown as problem:
        return Verdict(False, problem=str(problem))
    try:
        return Verdict(evaluate(question.ask.goal, facts) is True, list(answers))
    except Unknown:  # for example, the changed run does not try the pod
        return Verdict(False, list(answers))


def changed(question: Question, answers: Sequence[str]) -> Facts:
    """Return the facts of the runs with a changed field. Raises Unknown if the change is invalid."""
    runs, focus = changes.ChangedRuns(question.facts.runs, *answers), question.focus
    facts = Facts(runs, focus)
    attempts = {cycle.attempt for cycle in facts.run.cycles if cycle.pod == facts.pod_key(focus.pod)}
    if focus.attempt is not None and focus.attempt not in attempts:
        facts.focus = msgspec.structs.replace(focus, attempt=None)
    return facts


def unit_of(question: Question) -> str:
    """Return the unit of the requested number."""
    return "s" if question.ask.kind == "when" else question.ask.unit


def number_of(text: str, unit: str = "") -> float:
    """Parse a typed number such as `1.5`, `1500m`, `2Gi`, `12 s`. Raises ValueError."""
    clean = text.replace(",", "").replace(" ", "").replace("\N{MINUS SIGN}", "-")
    if unit == "s":
        return float(seconds(clean if clean[-1:].isalpha() else float(clean or "x")))
    if unit == "cpu":
        return float(quantity.milli_value(clean))
    if unit == "memory":
        return float(quantity.value(clean))
    found = float(clean)
    if not abs(found) < 1e18:
        raise ValueError(text)
    return found


def _unit_hint(unit: str) -> str:
    return {"cpu": " of CPUs, such as 1.5 or 1500m", "memory": " of bytes, such as 2Gi", "s": " of seconds"}.get(
        unit, ""
    )


def ranked_by(question: Question, node: str) -> float:
    """Return the value by which nodes are ordered: the total, or the question's expression with `NODE` replaced."""
    facts, focus = question.facts, question.focus
    if not question.ask.of:
        return float(facts.call("total", [focus.pod, node], {}))
    return float(evaluate(question.ask.of.replace("NODE", f'"{node}"'), facts))


def _score(question: Question) -> int:
    facts, focus = question.facts, question.focus
    names = {"raw": "raw", "normalized": "score", "weighted": "weighted"}
    if focus.point == "total":
        return int(facts.call("total", [focus.pod, focus.node], {}))
    return int(facts.call(names[focus.point], [focus.pod, focus.node, focus.plugin], {}))


def _compared(question: Question) -> list[str]:
    """Return the nodes of a question: those with a total score, or all."""
    facts, focus = question.facts, question.focus
    if question.ask.kind == "order" and not question.ask.of:
        return sorted(facts.find(focus.pod, focus.attempt).as_dict.get("total") or ())
    return facts.nodes()


def _events(facts: Facts) -> list[str]:
    """Return the events that may have woken the pod, each with its second."""
    move = facts.woke(facts.focus.pod)
    causes = {move.cause.seq: (move.t, move.cause.text)} if move.cause else {0: (move.t, move.event)}
    for event in facts.run.events:
        if event["type"] in ("node.changed", "object.changed", "pod.deleted", "pod.created", "pod.updated"):
            causes.setdefault(event["seq"], (event["t"], event_sentence(event)))
    shown = [one for one in causes.values() if one[0] > 0]
    return list(dict.fromkeys(_event_text(t, text) for t, text in sorted(shown)))


def _event_text(t: float, text: str) -> str:
    return f"{shown(Seconds(t))}: {text}".replace("default/", "")


def measured(question: Question, value: float) -> Any:
    """Return a number with the question's unit for display."""
    unit = unit_of(question)
    if unit == "s":
        return Seconds(value)
    return Amount.new(unit, int(value)) if unit else value
