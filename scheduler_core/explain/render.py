"""Renders an answer as text for a terminal."""

from collections.abc import Iterable, Iterator

from scheduler_core.cluster.formatting import count, some
from scheduler_core.explain.answer import Answer, Fix, NewNode, NodeObjections, Rung

NODES_LISTED = 8


def render(answer: Answer) -> str:
    """Return the answer as text: the sentence first, then the details. There is no trailing newline."""
    return "\n".join(_lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    yield f"{answer.pod}: {answer.sentence}"
    if answer.station != "scheduler":
        yield from (f"  {text}" for text in answer.says)
    if answer.new_node is not None:
        yield from (f"  {line}" for line in new_node_lines(answer.new_node))
    for rung in answer.ladder:
        changes = "never" if rung.changes is None else "now" if not rung.changes else count(rung.changes, "change")
        yield f"  {changes}: {rung.text}: {some(rung.nodes, NODES_LISTED)}{_more(rung)}"
    if answer.looked < answer.nodes and answer.feasible:
        yield f"    {answer.nodes - answer.looked:,} not looked at"
    if answer.closest:
        yield "  Closest nodes:"
        for near_node in answer.closest:
            yield from _near(near_node)
    yield from _scores(answer)
    if answer.preemption is not None and not answer.preemption.nominated_node:
        yield f"  Preemption: {answer.preemption.words}"
    elif answer.preemption is not None:
        yield f"  Preemption on {answer.preemption.nominated_node}, victims: {some(answer.preemption.victims, 10)}"
    if answer.fixes:
        yield "  Suggested fixes:"
    yield from (f"    {line}" for line in fix_lines(answer.fixes))
    if answer.message:
        yield f"  Event: {answer.message}"


def new_node_lines(new_node: NewNode) -> Iterator[str]:
    """Yield whether a new node of each NodePool takes a pod."""
    for one in new_node.pools:
        yield f"New node of NodePool {one.pool}: {one.answer}: {one.text}{f' ({one.basis})' if one.basis else ''}"
    if new_node.note:
        yield new_node.note


def fix_lines(fixes: Iterable[Fix]) -> Iterator[str]:
    """Yield the fixes as text, each with its command."""
    for fix in fixes:
        places = f" (places {fix.places:,} of {fix.of:,})" if fix.of > 1 else ""
        yield f"{fix.text}{places}{f'; {fix.remark}' if fix.remark else ''}"
        yield from (f"  {line}" for line in fix.command.splitlines())


def _more(rung: Rung) -> str:
    rest = rung.count - len(rung.nodes)
    return f" and {rest:,} more" if rest else ""


def _near(near: NodeObjections) -> Iterator[str]:
    for i, one in enumerate(near.objections):
        who = f"{' ' * len(near.node)}  then" if i else f"{near.node}:"
        yield f"    {who} {one.plugin or 'PreFilter'}: {one.detail or '; '.join(one.reasons)}"


def _scores(answer: Answer) -> Iterator[str]:
    if not answer.top:
        return
    yield "  Best nodes:"
    width = max(len(ranked.node) for ranked in answer.top)
    for ranked in answer.top:
        points = ", ".join(f"{p.plugin} {p.weighted:,}" for p in sorted(ranked.points, key=lambda p: -p.weighted))
        yield f"    {ranked.node:{width}} {ranked.total:6,}  {points}"
    if answer.duel is not None:
        made = [f"{d.plugin} {d.difference:+,}" for d in answer.duel.differences if d.difference]
        what = ", ".join(made) or "no plugin tells them apart"
        yield f"  {answer.duel.winner} against {answer.duel.other} ({answer.duel.margin:+,}): {what}"
