"""The words of a pod's sentences that link to what decided them: a panel of the pod's page, a node or another pod."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from kubesched_ui.models import Cycle, Run
from kubesched_ui.presenters.attempts import Attempt
from scheduler_core.cluster.formatting import count
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import Answer, NodeAnswer
from scheduler_core.explain.points import rejections


class SentenceLink(NamedTuple):
    """A text of a sentence and its address; `point` and `plugin` if that is a panel of the pod's page."""

    text: str
    address: str
    point: str = ""
    plugin: str = ""


def node_links(run: Run, names: Iterable[str]) -> list[SentenceLink]:
    return [SentenceLink(name, reverse("node", args=[run.pk, name])) for name in names if name]


def pod_links(run: Run, keys: Iterable[str]) -> list[SentenceLink]:
    return [SentenceLink(key, reverse("pod", args=[run.pk, *key.split("/", 1)])) for key in keys if "/" in key]


class CycleLinks:
    """Makes the links of one cycle's sentences. The first link of a text counts."""

    def __init__(self, run: Run, row: Cycle) -> None:
        self.run = run
        self.row = row
        self.page = reverse("pod", args=[run.pk, row.namespace, row.name])

    def at(self, text: str, point: str, plugin: str = "", node: str = "") -> SentenceLink:
        """Link to a panel; with a node, to how the plugin's verdict or score on it is computed."""
        query = {"cycle": self.row.number, "point": point, "plugin": plugin, "node": node}
        address = f"{self.page}?{urlencode({key: value for key, value in query.items() if value})}"
        return SentenceLink(text, address, *(() if node else (point, plugin)))

    def of_answer(self, trace: CycleTrace, answer: Answer, came_to: Attempt) -> list[SentenceLink]:
        """Return the links of the answer, of what followed it, and of the message of the FailedScheduling event."""
        cause, found = answer.cause, []
        if cause is not None and cause.plugin:
            rejected = (point for point, status in rejections(trace).items() if status.plugin == cause.plugin)
            point = next(rejected, "filter")
            found = [self.at(text, point, cause.plugin) for text in cause.objects]
        found += [self.at(reason, "filter", group.plugin) for group in answer.groups for reason in group.reasons]
        for point, status in rejections(trace).items():
            found += [self.at(reason, point, status.plugin) for reason in (*status.reasons, status.plugin)]
        found += [self.at(plugin, "permit", plugin) for plugin in trace.permit_waits]
        found += [self.at(plugin, "score", plugin) for plugin in trace.scores]
        if answer.preemption is not None:
            victims = answer.preemption.victims
            found += [self.at(f"evicting {count(len(victims), 'pod')}", "postfilter"), *pod_links(self.run, victims)]
        found += [self.at(text, point) for point, text in FOLLOWED.items() if text in came_to.sentence]
        if trace.group:
            found.append(SentenceLink(trace.group, reverse("group", args=[self.run.pk, *trace.group.split("/", 1)])))
        near = cause.nodes if cause is not None else []
        listed = (name for rung in answer.ladder for name in rung.nodes)
        other = answer.duel.other if answer.duel else ""
        return found + node_links(
            self.run, dict.fromkeys([trace.node, trace.nominated_node, other, *answer.ties[:3], *near, *listed])
        )

    def of_node(self, answer: NodeAnswer) -> list[SentenceLink]:
        """Return the links of why the pod did not go to one node: to how each number or verdict is computed."""
        plugins = [one.plugin for one in answer.objections if one.plugin]
        scored = [one.plugin for one in answer.duel.differences] if answer.duel else []
        found = [self.at(one.words, "filter", one.plugin, answer.node) for one in answer.objections if one.words]
        found += [self.at(plugin, "filter", plugin, answer.node) for plugin in plugins]
        found += [self.at(plugin, "weighted", plugin, answer.node) for plugin in scored]
        if answer.kind == "pod" and answer.plugin:
            found.append(self.at(answer.plugin, answer.point, answer.plugin))
        return found + node_links(self.run, [answer.node, answer.duel.winner if answer.duel else ""])


FOLLOWED: Mapping[str, str] = {"permit": "in Permit", "bind": "binding failed"}
