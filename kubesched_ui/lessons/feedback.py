"""Feedback for wrong answers. It uses only what the run recorded about the given answer, and hides the right one."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from kubesched_ui.lessons import markdown, questions
from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.expressions import evaluate
from kubesched_ui.lessons.formatting import Amount, Seconds, same, shown
from kubesched_ui.lessons.functions import NOWHERE, ONE_CANDIDATE, Facts
from kubesched_ui.lessons.questions import PASSES, Question, Verdict, measured
from scheduler_core.cluster.formatting import count
from scheduler_core.errors import InputError
from scheduler_core.explain import explain_node
from scheduler_core.preemption.pick_one_node import RULES
from scheduler_core.provenance.tree import LEAVES, Source, Tree

MOST = 8  # maximum number of values listed for a number
# Fields of objects in words; {name} is the object. Indices of lists are left out.
FIELDS = (
    (r"status\.allocatable\.(.+)", "allocatable {0} of {name}"),
    (r"spec\.(?:initContainers|containers)\.resources\.requests\.(.+)", "{0} that {name} requests"),
    (r"spec\.resources\.requests\.(.+)", "{0} that {name} requests"),
    (r"metadata\.labels\.(.+)", "label {0} of {name}"),
    (r"metadata\.labels", "labels of {name}"),
    (r"spec\.taints\.(.+)", "{0} of the taint of {name}"),
    (r"spec\.tolerations\.(.+)", "{0} of a toleration of {name}"),
    (r".*\.preferredDuring\w+\.weight", "weight of a preference of {name}"),
    (r".*\.preferredDuring\w+\.preference\.matchExpressions\.(.+)", "{0} of a preference of {name}"),
    (r"status\.images\.sizeBytes", "size of the image on {name}"),
)
NAMES = {
    "MaxNodeScore": "highest score",
    "minThreshold": "lower limit of the size",
    "maxContainerThreshold": "upper limit of the size for each container",
    "podInitialBackoffSeconds": "first backoff",
    "podMaxBackoffSeconds": "longest backoff",
    "DefaultPodMaxInUnschedulablePodsDuration": "time limit of unschedulable pods",
    "cpu": "CPU",
}
# Inputs that hold for every run, or that only the program needs.
UNLISTED = re.compile(
    r"not to divide by zero|MaxNodeScore / Max|maxUtilization|TolerationOpExists|resources$|the round after that"
    r"|images that raise|the queue checks|a cycle takes no virtual time|attempt \d+, error|when it entered"
)
POINTS = {"raw": "the raw score", "normalized": "the normalized score", "weighted": "the normalized score x weight"}


def explain(question: Question, verdict: Verdict) -> list[str]:
    """Return sentences about a wrong answer: plain text, or HTML (SafeString) if the lesson defines the text."""
    if verdict.problem:
        return [verdict.problem]
    if known := _known_mistake(question, verdict.given):
        return [known]
    explain_kind = _BY_KIND.get(question.ask.kind, _number)
    sentences = [text for text in explain_kind(question, verdict.given) if text]
    return sentences or ["That is not correct. Check the numbers next to the question and try again."]


def mentions(text: str, part: str) -> bool:
    """Whether a text contains a name or a number as a whole word."""
    return re.search(rf"(?<![\w.,/\[-]){re.escape(part)}(?![\w/\]-]|[.,]\d)", text) is not None


def _known_mistake(question: Question, given: Any) -> str:
    """Return the lesson's own text for this wrong answer, or ""."""
    for mistake in question.ask.mistakes:
        thought = evaluate(mistake.is_, question.facts)
        if isinstance(given, float):
            found = isinstance(thought, int | float) and same(thought, given)
        elif isinstance(given, list):
            found = isinstance(thought, list) and set(map(str, thought)) == set(given)
        else:
            found = str(thought) == given
        if found:
            return markdown.render_line(mistake.say, question.facts)
    return ""


# ---- numbers


def _number(question: Question, given: float) -> Iterator[str]:
    focus = question.focus
    if question.ask.kind == "score":
        yield from _other_score(question, given)
    right = float(questions.answer(question))
    if given != right:
        yield f"{shown(measured(question, given))} is too {'high' if given > right else 'low'}."
    if question.ask.kind == "score" or (focus.pod and focus.node and focus.point in POINTS):
        with suppress(Unknown, InputError):
            yield _made_of(
                question.facts.tree(focus.point, focus.pod, focus.node, focus.plugin), measured(question, right)
            )


def _other_score(question: Question, given: float) -> Iterator[str]:
    """Yield a hint if the number is another score of the cycle."""
    facts, focus = question.facts, question.focus
    cycle = facts.find(focus.pod, focus.attempt).as_dict
    scores = cycle.get("score", {})
    for plugin, score in scores.items():
        for node in cycle.get("feasible", ()):
            raw, normalized = score["raw"].get(node), score["normalized"].get(node)
            values = {"raw": raw, "normalized": normalized, "weighted": normalized * score["weight"]}
            for point, value in values.items():
                here = node == focus.node and plugin == focus.plugin
                if same(value, given) and here and point != focus.point and value != values[focus.point]:
                    yield f"{shown(value)} is {POINTS[point]} of {plugin}. The question asks for {POINTS[focus.point]}."
                    return
                if same(value, given) and not here and plugin == focus.plugin and point == focus.point:
                    yield f"{shown(value)} is the score that {plugin} gives {node}, not {focus.node}."
                    return


def _made_of(tree: Tree, right: Any) -> str:
    """List the input values of a number, without intermediate results and without those that equal it."""
    leaves = dict.fromkeys(_leaf(leaf) for leaf in _leaves(tree))
    values = [text for text in leaves if text and not mentions(text, shown(right))]
    more = f" and {len(values) - MOST} more" if len(values) > MOST else ""
    return f"It is computed from these values: {'; '.join(values[:MOST])}{more}." if values else ""


def _leaves(tree: Tree) -> Iterator[Tree]:
    if tree.op in LEAVES or not tree.args:
        yield tree
    for arg in tree.args or ():
        yield from _leaves(arg)


def _leaf(tree: Tree) -> str:
    """Return the name and value of an input, or nothing if it has no name that people use."""
    value = leaf_value(tree)
    if tree.source is not None:
        what = field_in_words(tree.source)
        return f"{what}: {value}" if tree.op == "field" else f"{what}: none, which counts as {value}"
    what = tree.label or tree.path or tree.function
    if UNLISTED.match(what):
        return ""
    if " runs every " in what:
        return what.replace("flushUnschedulablePodsLeftover", "the flush of unschedulable pods")
    if isinstance(tree.value, bool) and (tree.op not in LEAVES or " " in what):
        return what  # a condition: its label says so, such as "the pod has no tolerations"
    return f"{NAMES.get(what, what)}: {value}" if what else ""


def field_in_words(source: Source) -> str:
    """Return the name of an object's field as people say it, such as "cpu that web requests"."""
    path = re.sub(r"\[\d+\]", "", source.path)
    path = re.sub(r"\['(.+?)'\]", r".\1", path)
    for pattern, text in FIELDS:
        if found := re.fullmatch(pattern, path):
            return text.format(*(NAMES.get(word, word) for word in found.groups()), name=source.name)
    return f"{path.rpartition('.')[2]} of {source.kind} {source.name}"


def leaf_value(tree: Tree) -> str:
    """Return the value of a tree with its unit."""
    if isinstance(tree.value, dict):
        return ", ".join(f"{key}={value}" for key, value in tree.value.items())
    unit = {"m": "cpu", "B": "memory"}.get(tree.unit)
    if isinstance(tree.value, int) and not isinstance(tree.value, bool) and unit:
        return shown(Amount.new(unit, tree.value))
    if tree.unit == "s" and isinstance(tree.value, int | float):
        return shown(Seconds(tree.value))
    return shown(tree.value)


# ---- nodes


def _passes(question: Question, given: list[str]) -> Iterator[str]:
    right = questions.answer(question)
    for node in given:
        if node not in right:
            yield f"{node} does not pass. {_refusal(question.facts, node)}"
    if missing := [node for node in right if node not in given]:
        verb = "passes" if len(missing) == 1 else "pass"
        yield f"{count(len(missing), 'node')} that you did not select {verb} all filters."


def _refusal(facts: Facts, node: str) -> str:
    """Return why a node rejects the pod in focus, in the words of an answer."""
    cycle = facts.find(facts.focus.pod, facts.focus.attempt)
    found = facts.run.provenance(cycle)
    return explain_node(cycle.trace, node, found.framework.cluster, found.pod, cycle.nodes).sentence


def _refuses(question: Question, given: str) -> Iterator[str]:
    facts, focus = question.facts, question.focus
    if given == PASSES:
        yield "A plugin rejects the node."
    elif given in facts.call("refusers", [focus.pod, focus.node], {}):
        yield f"{given} would also reject {focus.node}, but it runs later. The first plugin that rejects decides."
    else:
        text = ""
        with suppress(Unknown, InputError):
            text = facts.tree("filter", focus.pod, focus.node, given).text
        yield f"{given} does not reject {focus.node}{f': {text}' if text else ''}."


def _lands(question: Question, given: str) -> Iterator[str]:
    facts, focus = question.facts, question.focus
    cycle = facts.find(focus.pod, focus.attempt).as_dict
    if given == NOWHERE:
        yield "The pod is placed: at least one node passes all filters."
    elif given in (cycle.get("filter") or {}) or not cycle.get("feasible"):
        yield f"{given} does not pass. {_refusal(facts, given)}"
    else:
        found = cycle.get("total", {}).get(given)
        yield f"{given} passes all filters, but another node is better. The total of {given} is {shown(found)}."


def _order(question: Question, given: list[str]) -> Iterator[str]:
    """Explain what to compare. Naming the first node or giving the values would reveal part of the answer."""
    yield "At least two of the nodes are in the wrong order."
    if question.ask.of:
        return
    cycle = question.facts.find(question.focus.pod, question.focus.attempt).as_dict
    parts = [f"{plugin} x {score['weight']}" for plugin, score in cycle.get("score", {}).items()]
    yield f"The total of a node is the sum of these normalized scores, each times its weight: {', '.join(parts)}."


# ---- preemption


def _victims(question: Question, given: list[str]) -> Iterator[str]:
    facts, focus = question.facts, question.focus
    right, nominated = questions.answer(question), facts.call("nominated", [focus.pod], {})
    mine = facts.call("priority", [focus.pod], {})
    there = facts.call("pods_on", [nominated], {}) if nominated != "none" else []
    for pod in (pod for pod in given if pod not in right):
        its = facts.call("priority", [pod], {})
        if its >= mine:
            yield f"{pod} has priority {shown(its)}, which is not lower than {shown(mine)}. It cannot be evicted."
        elif pod in there:
            yield f"{pod} is not evicted: the pending pod fits next to it without the other victims."
        elif nominated == "none":
            yield f"{pod} is not evicted. Would its eviction make the pending pod fit, and may this pod preempt?"
        else:
            yield f"{pod} is not evicted: its node is not the one that preemption chooses."
    if any(pod not in given for pod in right):
        yield "You did not select all victims."


def _rule(question: Question, given: str) -> Iterator[str]:
    names = [name for name, _ in RULES]
    right = questions.answer(question)
    if given in names and right in names and names.index(given) > names.index(right):
        yield f"An earlier rule decides, so this rule is not applied: {given}."
    elif right == ONE_CANDIDATE:
        yield "First, find the nodes on which evictions would make the pod fit."
    elif given in names:
        yield f"The remaining candidates are equal under the rule: {given}."
    else:
        candidates = question.facts.call("candidates", [question.focus.pod], {})
        yield f"There are {count(len(candidates), 'candidate')}, and one of the rules decides between them."


# ---- time


def _when(question: Question, given: float) -> Iterator[str]:
    facts, focus = question.facts, question.focus
    cycle = facts.find(focus.pod, focus.attempt)
    before = [one for one in facts.run.cycles if one.pod == cycle.pod and one.number < cycle.number]
    if before and same(given, before[-1].t):
        yield f"Attempt {before[-1].attempt} began at {shown(Seconds(given))} and failed."
        yield "The question asks for the next attempt."
        return
    if before and same(given, cycle.t - before[-1].t):
        yield "That is the length of the wait. The question asks for the second of the run at which the wait ends."
        return
    yield f"{shown(Seconds(given))} is too {'late' if given > cycle.t else 'early'}."
    times = facts.run.queue_times(cycle.pod)
    with suppress(InputError):
        yield _made_of(times.explain(times.begin_of(cycle.seq)), Seconds(cycle.t))


def _woken(question: Question, given: str) -> Iterator[str]:
    facts, focus = question.facts, question.focus
    move, cycle = facts.woke(focus.pod), facts.find(focus.pod, focus.attempt)
    moment = float(given.partition(" s:")[0].replace(",", ""))
    before = [one for one in facts.run.cycles if one.pod == cycle.pod and one.number < cycle.number]
    if moment > move.t:
        yield "The pod is already back in the active queue before this event occurs."
    elif before and moment < before[-1].t:
        yield f"This event occurs before attempt {before[-1].attempt} fails. The pod does not wait at that time."
    else:
        plugins = ", ".join(before[-1].trace.unschedulable_plugins) if before else ""
        failed = f"{plugins} rejected its last attempt" if plugins else "Its last attempt failed with an error"
        yield f"This event does not move the pod. {failed}: consider which events can help."


# ---- changes


def _change(question: Question, given: list[str]) -> Iterator[str]:
    yield "The goal is not reached."
    pod = question.focus.pod
    if not pod:
        return
    try:
        facts = questions.changed(question, given)
        node = facts.node_of(pod)
        if node != NOWHERE:
            yield f"With this change, {pod} is placed on {node}."
        else:
            yield f"With this change, {pod} is placed on no node: {facts.message(pod)}"
    except Unknown:
        yield f"With this change, the run does not schedule {pod}."


# ---- texts from the lesson


def _which(question: Question, given: Any) -> Iterator[str]:
    chosen = [given] if isinstance(given, str) else given
    right = questions.answer(question)
    right = [right] if isinstance(right, str) else right
    for text in chosen:
        if text not in right:
            say = question.ask.option(text).say or f"This is not true: {text}"
            yield markdown.render_line(say, question.facts)
    if isinstance(given, list) and any(text not in given for text in right):
        yield "You did not select all true options."


_BY_KIND: dict[str, Callable[[Question, Any], Iterator[str]]] = {  # number and score: _number
    "passes": _passes,
    "refuses": _refuses,
    "lands": _lands,
    "order": _order,
    "victims": _victims,
    "rule": _rule,
    "when": _when,
    "woken": _woken,
    "which": _which,
    "choice": _which,
    "change": _change,
}
