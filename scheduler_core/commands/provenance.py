"""python -m scheduler_core provenance: shows where a number of a file's run comes from, as a tree or as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import IO

from scheduler_core.commands.output import print_json
from scheduler_core.commands.query import play
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.provenance import Question, provenance_of
from scheduler_core.provenance.tree import Tree


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the tree of a number of an attempt. Returns 0. Raises InputError."""
    question = Question(args.point, args.node, args.plugin, args.page)
    played = play(args, keep=True)
    number = played.cycle_of(args.pod, args.attempt)
    trace = CycleTrace.decode(played.cycles[number - 1][0])
    tree = provenance_of(played.restored(), number, trace).explain(question)
    if args.json:
        print_json(tree, out)
        return 0
    print(tree.text, file=out)
    for line in lines(tree):
        print(line, file=out)
    return 0


def lines(tree: Tree, depth: int = 0) -> Iterator[str]:
    """Yield the tree as text, one line for each value."""
    value = str(tree.value).lower() if isinstance(tree.value, bool) else tree.value
    head = f"{'  ' * depth}{value}{tree.unit}  {tree.op}"
    about = [tree.label] if tree.label else []
    if tree.source is not None:
        source = tree.source
        about.append(f"{source.kind} {f'{source.namespace}/' * bool(source.namespace)}{source.name} {source.path}")
    if tree.op == "argument":
        about.append(f"{tree.plugin} {tree.path}" + (" (default)" if tree.default else ""))
    if tree.op == "over":
        about.append(f"{tree.function} of {tree.count}" + (f", on {tree.node}" if tree.node else ""))
    if tree.cycle:
        about.append(f"cycle {tree.cycle}")
    yield "  ".join([head, *about])
    for arg in tree.args or ():
        yield from lines(arg, depth + 1)
