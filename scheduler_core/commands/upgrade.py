"""python -m scheduler_core upgrade: shows how outcomes change with another release, and which of its changes cause
that."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, Any

import msgspec

from scheduler_core.cluster.formatting import count, some
from scheduler_core.commands.console import (
    choices_of,
    configuration_of,
    prepared,
    print_json,
    print_notes,
    snapshot_of,
    write_table,
)
from scheduler_core.commands.progress import shown
from scheduler_core.compare.inputs import Inputs, Outcome
from scheduler_core.compare.upgrade import DECISIONS, UpgradeStep, direct_sentence, upgrade, upgrade_sentence
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.feature_gates import WHERE, gates_of, parse, with_known_gates
from scheduler_core.releases.versions import numbered
from scheduler_core.snapshot.files import read_bytes
from scheduler_core.virtual_time.scenario import is_scenario, load_scenario

ROWS = 200
MOST_NAMED = 10
# fields of a scenario that Inputs stores separately
SETTINGS = (
    *("objects", "kubernetes", "featureGates", "config", "seed", "tieBreak", "preemption", "percentage", "until"),
    "description",
)


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write each step from one release to the next.

    Returns 0 if every pod has the same outcome in all of them, otherwise 1. Raises InputError.
    """
    if args.release:
        raise InputError("--release", "", "cannot be combined with --from and --to")
    releases = _releases(args.first, args.last, args.through)
    gates = parse(args.feature_gates)
    for name in gates:
        if all(name not in gates_of(get_release(release)) for release in releases):
            raise InputError(WHERE, name[:80], f"is in none of {', '.join(releases)}")
    differ = False
    steps = upgrade(_inputs_of(args, releases, gates))
    for step in shown(steps, "steps", len(releases) - 1, out):
        differ = differ or any(one.change in DECISIONS for one in step.changed)
        if args.json:
            print_json(step.as_dict(), out)
        else:
            _write(step, out)
    return int(differ)


def _releases(first: str, last: str, through: bool) -> list[str]:
    """Return the releases from one to another. `through`: include the minor releases in between. Raises InputError."""
    a, b = get_release(first), get_release(last)
    if a.number == b.number:
        raise InputError("--to", "", f"must differ from --from, which is {a.number}")
    low, high = sorted(numbered(release.minor) for release in (a, b))
    between = [name for name in RELEASES if low < numbered(name) < high] if through else []
    return [a.number, *(between if numbered(a.minor) == low else between[::-1]), b.number]


def _inputs_of(args: argparse.Namespace, releases: Sequence[str], gates: Mapping[str, bool]) -> list[Inputs]:
    """Return the inputs of a file's runs, one for each release. Raises InputError."""
    data = read_bytes(args.file)
    if not args.single_pass and is_scenario(data):
        return _virtual_time(data, args, releases, gates)
    raws = snapshot_of(args, data, args.file).objects
    found: list[Inputs] = []
    for name in releases:
        release = with_known_gates(get_release(name), gates)
        read = partial(load, release=release, unknown=args.unknown_plugins)
        raw = configuration_of(args, raws, read)
        whole = prepared(args.file, raws, release, read(raw), choices_of(args))
        if not found:
            print_notes(whole.warnings)
        objects = {(type(obj).__name__, obj.key): obj for obj in whole.objects}
        ties = ("name", True, None) if args.seed is None else ("seed", True, None)
        found.append(Inputs(release, raw, args.seed or 0, *ties, objects, unknown_plugins=args.unknown_plugins))
    return found


def _virtual_time(
    data: bytes, args: argparse.Namespace, releases: Sequence[str], gates: Mapping[str, bool]
) -> list[Inputs]:
    scenario = load_scenario(data, args.file)
    spec = scenario.spec
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    one = Inputs(
        get_release(releases[0]),
        read_bytes(args.config).decode(errors="replace") if args.config else spec.config,
        spec.seed if args.seed is None else args.seed,
        spec.tie_break,
        spec.preemption,
        spec.percentage,
        {_key(obj): obj for _, obj in spec.each_object()},
        unknown_plugins=args.unknown_plugins,
        time={name: value for name, value in plain.items() if name not in SETTINGS},
        until=scenario.until(),
        choices=choices_of(args),
    )
    gates = {**spec.feature_gates, **gates}
    return [replace(one, release=with_known_gates(get_release(name), gates)) for name in releases]


def _key(obj: dict[str, Any]) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(obj.get("kind")), "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))


# ---- output


def _write(step: UpgradeStep, out: IO[str]) -> None:
    print(f"{step.a} → {step.b}: {upgrade_sentence(step.summary)}", file=out)
    if follows := direct_sentence(sum(step.summary[kind] for kind in DECISIONS), step.direct):
        print(follows, file=out)
    for group in step.groups():
        for line in _cause(step, group.cause):
            print(f"  {line}", file=out)
        for kind, pods in group.pods.items():
            print(f"    {kind}: {some(pods, MOST_NAMED)}", file=out)
    moved = [one for one in step.changed if one.change in DECISIONS]
    rows = [(one.pod, one.change, _where(one.a), _where(one.b)) for one in moved[:ROWS]]
    write_table([("POD", "", step.a, step.b), *rows] if rows else [], out)
    if len(moved) > ROWS:
        print(f"and {count(len(moved) - ROWS, 'more pod')}; --json lists all", file=out)
    if step.note:
        print(f"note: {step.note}", file=out)


def _cause(step: UpgradeStep, cause: Sequence[int] | None) -> Iterator[str]:
    """Yield lines about the behaviours that caused the changes."""
    if cause is None:
        yield "for which no cause was found"
        return
    for unit in (step.units[number] for number in cause):
        yield f"since {unit.since}: {unit.text}" if unit.since else unit.text or unit.path
        details = ("before", unit.before), ("expect", unit.expect), ("upstream", unit.link)
        yield from (f"  {name}: {text}" for name, text in details if text)


def _where(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    return outcome.node or (
        f"{outcome.result}, preempts on {outcome.nominated}" if outcome.nominated else outcome.result
    )
