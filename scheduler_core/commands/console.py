"""What the commands share: the objects of a snapshot, its configuration, and output."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

import msgspec

from scheduler_core.api.objects import Node, Pod, decode
from scheduler_core.api.workloads import PodGroup
from scheduler_core.config import Configuration, UnknownPlugins
from scheduler_core.config.discovery import chosen, configurations_in, passed_over
from scheduler_core.errors import InputError
from scheduler_core.pod_groups.needed_gates import needed_gates
from scheduler_core.releases import Release, get_release, with_gates
from scheduler_core.releases.feature_gates import parse, with_known_gates
from scheduler_core.releases.remarks import cluster_remarks, default_release, default_release_note
from scheduler_core.snapshot.files import Reader, Snapshot, read_bytes, read_snapshot, useless_objects_hint
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import Prepared, prepare
from scheduler_core.virtual_time.scenario import ScenarioSpec

Raw = dict[str, Any]
Load = Callable[..., Configuration]


def configuration_of(args: argparse.Namespace, raws: list[Raw], load: Load) -> Any:
    """Return the configuration before it is loaded: the one in `--config`, else the snapshot's if it is usable.

    None stands for the release's default. The choice is printed to standard error. Raises InputError.
    """
    if not args.config:
        return _usable_configuration(raws, load)
    given = read_bytes(args.config)
    try:
        load(given)
    except InputError as problem:
        problem.where = f"{args.config}: {problem.where}" if problem.where else args.config
        raise
    return given


def _usable_configuration(raws: list[Raw], load: Load) -> Any:
    """Return the snapshot's configuration before it is loaded; None for the release's default."""
    try:
        everything = [found for raw in raws for found in configurations_in(raw)]
        if not everything:
            return None
        found = chosen(everything)
        load(found.raw)
    except InputError as problem:
        way_out = "; --leave-out-unknown uses it without them" if isinstance(problem, UnknownPlugins) else ""
        print(f"note: the configuration in the snapshot is left out: {problem}{way_out}", file=sys.stderr)
        return None
    print(f"note: the configuration is {found} in the snapshot", file=sys.stderr)
    if len(everything) > 1:
        print(f"note: {passed_over(found, everything)}", file=sys.stderr)
    return found.raw


def snapshot_of(args: argparse.Namespace, data: bytes, path: str) -> Snapshot:
    """Return the snapshot in a file's content, and print the notes of its reader. Raises InputError."""
    reader: Reader = getattr(args, "reader", None) or read_snapshot
    found = reader(data, path)
    print_notes(found.notes)
    return found


def release_of(args: argparse.Namespace, snapshot: Snapshot) -> Release:
    """Return the release of `--release`, or else that of the snapshot's cluster, with the feature gates of the command.

    The choice is printed to standard error. Raises InputError.
    """
    if args.release:
        print_notes(cluster_remarks(snapshot.version, get_release(args.release).name))
        return with_gates(get_release(args.release), parse(args.feature_gates))
    release = with_known_gates(get_release(default_release(snapshot.version)), needed_gates(_groups(snapshot)))
    print_notes([default_release_note(release.name, snapshot.version)])
    print_notes(cluster_remarks(snapshot.version, release.name))
    return with_gates(release, parse(args.feature_gates))


def scenario_release(spec: ScenarioSpec) -> str:
    """Return the release of a scenario document, and print to standard error how it was chosen."""
    release, version = spec.release, spec.kubelet_version
    if not spec.kubernetes:
        print_notes([default_release_note(release, version), *cluster_remarks(version, release)])
    return release


def _groups(snapshot: Snapshot) -> Iterator[PodGroup]:
    for raw in snapshot.objects:
        if raw.get("kind") == "PodGroup":
            with suppress(InputError):  # the run reports the invalid object
                group = decode(raw)
                if isinstance(group, PodGroup):
                    yield group


def prepared(path: str, raws: list[Raw], release: Release, configuration: Configuration, choices: Choices) -> Prepared:
    """Return the objects of a run. Raises InputError with the name of the file."""
    try:
        found = prepare(raws, release=release, schedulers=configuration.schedulers, choices=choices)
    except InputError as problem:
        raise InputError(path, "", useless_objects_hint(raws) or str(problem)) from None
    if not any(isinstance(obj, Node | Pod) for obj in found.objects):
        raise InputError(path, "", useless_objects_hint(raws) or "holds neither nodes nor pods")
    return found


def choices_of(args: argparse.Namespace) -> Choices:
    return Choices(args.other_schedulers, args.absent_claims)


def print_notes(notes: Iterable[str], warnings: Iterable[str] = ()) -> None:
    """Print notes and warnings to standard error."""
    for kind, messages in (("note", notes), ("warning", warnings)):
        for message in messages:
            print(f"{kind}: {message}", file=sys.stderr)


def print_json(value: Any, out: IO[str]) -> None:
    """Write a value as one line of JSON."""
    print(msgspec.json.encode(value).decode(), file=out, flush=True)


def write_table(rows: Sequence[tuple[str, ...]], out: IO[str]) -> None:
    """Write rows with aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), file=out)
