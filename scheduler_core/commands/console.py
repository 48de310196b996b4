"""What the commands share: the objects of a snapshot, its configuration, and output."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

import msgspec

from scheduler_core.api.objects import Node, Pod
from scheduler_core.config import Configuration, UnknownPlugins
from scheduler_core.config.discovery import chosen, configurations_in, passed_over
from scheduler_core.errors import InputError
from scheduler_core.releases import Release
from scheduler_core.snapshot.files import read_bytes, useless_objects_hint
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import Prepared, prepare

Raw = dict[str, Any]
Load = Callable[..., Configuration]


def configuration_of(args: argparse.Namespace, raws: list[Raw], load: Load) -> Any:
    """Return the configuration before it is loaded: the one in `--config`, else the snapshot's if it is usable.

    None stands for the release's default. The choice is printed to standard error. Raises InputError.
    """
    return read_bytes(args.config) if args.config else _usable_configuration(raws, load)


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
