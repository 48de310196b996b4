"""Renders an answer as text for a terminal."""

from collections.abc import Iterator

from scheduler_core.cluster.formatting import agree, count, some
from scheduler_core.explain.answer import Answer, NodeObjections, Objection

NODES_LISTED = 8


def render(answer: Answer) -> str:
    """Return the answer as text: the sentence first, then the details. There is no trailing newline."""
    return "\n".join(_lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    yield f"{answer.pod}: {answer.sentence}"
    if answer.groups:
        yield f"  Refused by {count(sum(g.count for g in answer.groups))} of {answer.nodes:,}:"
    for group in answer.groups:
        near = f"; closest: {group.closest}" if group.closest else ""
        words = agree(group.count, group.words)
        yield f"    {group.count:,} {words} [{group.plugin or 'PreFilter'}]{near}: {some(group.nodes, NODES_LISTED)}"
    if answer.looked < answer.nodes and answer.feasible:
        yield f"    {answer.nodes - answer.looked:,} not looked at"
    if answer.closest:
        yield "  Closest nodes:"
        for near_node in answer.closest:
            yield from _near(near_node)
    yield from _only(answer)
    yield from _scores(answer)
    if answer.preemption is not None and not answer.preemption.nominated_node:
        yield f"  Preemption: {answer.preemption.words}"
    elif answer.preemption is not None:
        yield f"  Preemption on {answer.preemption.nominated_node}, victims: {some(answer.preemption.victims, 10)}"
    if answer.changes:
        yield "  Suggested fixes:"
        for change in answer.changes:
            yield f"    {change}"
    if answer.message:
        yield f"  Event: {answer.message}"


def _near(near: NodeObjections) -> Iterator[str]:
    for i, objection in enumerate(near.objections):
        yield f"    {near.node + ':' if not i else ' ' * len(near.node) + '  then'} {_objection(objection)}"


def _objection(objection: Objection) -> str:
    return f"{objection.plugin or 'PreFilter'}: {objection.detail or '; '.join(objection.reasons)}"


def _only(answer: Answer) -> Iterator[str]:
    alone = [b for b in answer.blockers if b.alone]
    if alone and len(answer.blockers) > 1 and not answer.feasible:
        yield "  Rejected by only one plugin:"
        for blocker in alone:
            yield f"    without {blocker.plugin}, {count(blocker.alone)} would fit: {some(blocker.alone_nodes)}"


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
