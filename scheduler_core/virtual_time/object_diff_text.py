"""Describes the changes of a node or a pod: `taint dedicated=a:NoSchedule added`, `cpu 4 → 8`.

Covers only fields that the scheduler and the controllers use.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_core.api.objects import Node, Object, Pod, Taint
from scheduler_core.api.selector_text import taint_text
from scheduler_core.cluster import resources
from scheduler_core.cluster.formatting import amount

MOST = 40  # maximum number of changes listed for one object
MOST_LETTERS = 80  # maximum length of a value

Change = dict[str, str]
"""`of`: cordon, taint, allocatable, condition, label or annotation; for a pod also gate, toleration or termination.
`text`: the description."""


def changes(old: Object, new: Object) -> list[Change]:
    """Return the changes, in this order. There are at most MOST; if there are more, the last one gives the number of
    the rest."""
    if isinstance(old, Node) and isinstance(new, Node):
        found = list(_of_node(old, new))
    elif isinstance(old, Pod) and isinstance(new, Pod):
        found = list(_of_pod(old, new))
    else:
        return []
    texts = [{"of": of, "text": text} for of, text in found[:MOST]]
    if len(found) > MOST:
        texts[-1]["text"] = f"and {len(found) - MOST + 1} more changes"
    return texts


def _of_node(old: Node, new: Node) -> Iterator[tuple[str, str]]:
    if old.spec.unschedulable != new.spec.unschedulable:
        yield "cordon", "cordoned" if new.spec.unschedulable else "uncordoned"
    yield from _taints(old.spec.taints, new.spec.taints)
    before, after = resources.amounts(old.status.allocatable), resources.amounts(new.status.allocatable)
    for name in _keys(before, after):
        texts = (amount(name, found[name]) if name in found else "none" for found in (before, after))
        yield "allocatable", f"{name} {' → '.join(texts)}"
    conditions = ({c.type: c.status for c in node.status.conditions} for node in (old, new))
    yield from _mapping("condition", *conditions)
    yield from _mapping("label", old.metadata.labels, new.metadata.labels)
    yield from _mapping("annotation", old.metadata.annotations, new.metadata.annotations)


def _of_pod(old: Pod, new: Pod) -> Iterator[tuple[str, str]]:
    if new.metadata.deletion_timestamp and not old.metadata.deletion_timestamp:
        yield "termination", "is terminating"
    gates = [{gate.name: "" for gate in pod.spec.scheduling_gates} for pod in (old, new)]
    yield from _mapping("gate", *gates)
    yield from _mapping("label", old.metadata.labels, new.metadata.labels)
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        yield "toleration", f"tolerations {len(old.spec.tolerations)} → {len(new.spec.tolerations)}"
    yield from _mapping("annotation", old.metadata.annotations, new.metadata.annotations)


def _taints(old: list[Taint], new: list[Taint]) -> Iterator[tuple[str, str]]:
    before, after = ({(t.key, t.effect): t for t in taints} for taints in (old, new))
    for key in dict.fromkeys([*before, *after]):
        if key not in after:
            yield "taint", f"taint {_short(taint_text(before[key]))} removed"
        elif key not in before:
            yield "taint", f"taint {_short(taint_text(after[key]))} added"
        elif before[key].value != after[key].value:
            values = " → ".join(_short(t.value) or "no value" for t in (before[key], after[key]))
            yield "taint", f"taint {key[0]}:{key[1]}: {values}"


def _mapping(of: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key in _keys(old, new):
        if key in old and key in new:
            yield of, f"{of} {key}: {_short(old[key]) or 'empty'} → {_short(new[key]) or 'empty'}"
        else:
            value = old.get(key) or new.get(key) or ""
            name = f"{key}={value}" if of in ("label", "annotation") else f"{key}: {value}" if value else key
            yield of, f"{of} {_short(name)} {'added' if key in new else 'removed'}"


def _keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the keys that only one mapping has, or whose values differ."""
    return [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key) or (key in old) != (key in new)]


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
