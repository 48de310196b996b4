"""python -m scheduler_core shadow: checks the decisions of a real scheduler in a recording, as JSON lines."""

import argparse
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from scheduler_core.api.objects import Object
from scheduler_core.commands.console import print_json, print_notes
from scheduler_core.commands.progress import shown
from scheduler_core.errors import InputError
from scheduler_core.etcd.bbolt import is_database
from scheduler_core.evidence.recorded_decisions import discovered, with_lists
from scheduler_core.live import recorded_audit_log, recorded_database, recorded_folder
from scheduler_core.live.discovery import Discovered
from scheduler_core.live.kinds import KINDS, recorded_kind
from scheduler_core.live.ordering import UNORDERED, in_order
from scheduler_core.live.recorded_folder import object_of
from scheduler_core.live.watch_events import NEVER, Gap, Item
from scheduler_core.releases import chosen_release
from scheduler_core.shadow.judge import Judge
from scheduler_core.snapshot.files import objects_in, read_bytes


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write a line for each decision and message, and last the counts and the likelihoods of configurations.

    Returns 0, or 1 if a decision is not explained or a message differs. Raises InputError.
    """
    notes: list[str] = []
    items = recorded_items(args.recording, notes)
    if items is None:
        problem = "is neither a recorded folder nor a database of etcd nor an audit log"
        raise InputError(args.recording, "", problem)
    if args.cluster:
        items = with_lists(items, _objects(args.cluster))
    print_notes([], [*notes, *_gaps(items)])
    found = _discovered(args.recording, items)
    release, lacking = chosen_release(args.release or "", found.release)
    print_notes(lacking)
    print_notes(missing_kinds({item.kind for item in items}))
    judge = Judge(release, read_bytes(args.config) if args.config else found.config or None)
    if not args.release:
        print_notes([f"release {release.name}, from {found.release_source}", *found.notes])
    if not args.config:
        print_notes([f"configuration from {found.config_source}"] if found.config else [])
    if judge.unknown_plugins:
        print_notes([], [f"plugins that are not known here: {', '.join(judge.unknown_plugins)}"])
    explained = True
    for item in shown(in_order(iter(items), {item.kind for item in items}), "changes", len(items), out):
        for judgement in judge.feed(item):
            explained = explained and judgement.explained
            print_json(judgement, out)
    for judgement in judge.finish():
        explained = explained and judgement.explained
        print_json(judgement, out)
    if judge.configuration != judge.given:
        note = f"the decisions are those of {judge.configuration}, not of {judge.given}; they are checked by it"
        print_notes([note])
    print_json(judge.summary(), out)
    return 0 if explained else 1


def recorded_items(path: str, notes: list[str]) -> list[Item] | None:
    """Return the items of a recorded folder, a database of etcd or an audit log; None for another file. Raises
    InputError."""
    if Path(path).is_dir():
        return list(recorded_folder.read(path, notes))
    data, about = read_bytes(path), list[str]()
    items: list[Item] | None = None
    if is_database(data):
        items = recorded_database.read(data, path, about)
    elif recorded_audit_log.is_audit_log(data):
        items = recorded_audit_log.read(data, path, about)
    notes += (f"{path}: {note}" for note in about)
    return items


def missing_kinds(recorded: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each kind that a recording lacks. `recorded`: the kinds that it has."""
    for kind in KINDS.values():
        if not kind.optional and kind.kind not in recorded:
            yield f"{kind.resource} were not recorded: {kind.consequence}"


def _objects(path: str) -> dict[str, list[Object]]:
    """Return the objects of a snapshot by kind. Raises InputError."""
    found = defaultdict[str, list[Object]](list)
    for raw in objects_in(read_bytes(path), path):
        if kind := recorded_kind(raw):
            found[kind].append(object_of(raw, path))
    return found


def _gaps(items: list[Item]) -> Iterator[str]:
    """Yield a sentence for each gap of the recording."""
    for item in items:
        if isinstance(item, Gap) and item.kind not in UNORDERED:
            end = f" to {item.until}" if item.until < NEVER else " on"
            yield f"changes of {item.kind} are missing from resourceVersion {item.after}{end}: outcome gap"


def _discovered(path: str, items: list[Item]) -> Discovered:
    """Return the release and the configuration, as far as the recording shows them."""
    if not Path(path).is_dir():
        return discovered(items)
    return discovered(items, recorded_folder.version_of(path), tuple(recorded_folder.scheduler_objects(path)))
