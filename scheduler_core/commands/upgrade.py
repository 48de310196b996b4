"""python -m scheduler_core upgrade: shows how outcomes change with another release, and which of its changes cause
that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, Any

import msgspec

from scheduler_core.cluster.formatting import count, some
from scheduler_core.commands.diff import write_table
from scheduler_core.commands.inputs import prepared, read_config, tell, usable_configuration
from scheduler_core.commands.query import is_scenario
from scheduler_core.config import Unknown
from scheduler_core.debugger.compare.inputs import Inputs
from scheduler_core.debugger.compare.outcomes import Outcome
from scheduler_core.debugger.compare.upgrade import DECISIONS, UpgradeStep, upgrade, upgrade_sentence
from scheduler_core.errors import InputError
from scheduler_core.legacy.configuration import load
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.feature_gates import WHERE, gates_of, parse, with_known_gates
from scheduler_core.snapshot.files import objects_in, read_bytes
from scheduler_core.snapshot.preflight import AS_UPSTREAM, Choices
from scheduler_core.virtual_time.scenario import load_scenario

ROWS = 200
MOST_NAMED = 10
SETTINGS = (
    "objects",
    "kubernetes",
    "featureGates",
    "config",
    "seed",
    "tieBreak",
    "preemption",
    "percentage",
    "until",
    "description",
)


def run(
    path: str,
    out: IO[str],
    wanted: Sequence[str],
    *,
    gates: str = "",
    one_pass: bool = False,
    config: str | None = None,
    seed: int | None = None,
    unknown: Unknown = "error",
    choices: Choices = AS_UPSTREAM,
    as_json: bool = False,
) -> int:
    """Write each step from one of these releases to the next. `gates`: feature gates, set in releases that have them.

    Returns 0 if every pod has the same outcome in all of them, otherwise 1. Raises InputError.
    """
    set_ = parse(gates)
    for name in set_:
        if all(name not in gates_of(get_release(release)) for release in wanted):
            raise InputError(WHERE, name[:80], f"is in none of {', '.join(wanted)}")
    inputs = inputs_of(path, wanted, set_, one_pass, config, seed, unknown, choices)
    differ = False
    for step in upgrade(inputs):
        differ = differ or any(one.change in DECISIONS for one in step.changed)
        if as_json:
            print(msgspec.json.encode(step.as_dict()).decode(), file=out, flush=True)
        else:
            _write(step, out)
    return int(differ)


def chosen(first: str, last: str, through: bool) -> list[str]:
    """Return the releases from one to another. `through`: include those in between. Raises InputError."""
    names = list(RELEASES)
    a, b = get_release(first).number, get_release(last).number
    if a == b:
        raise InputError("--to", "", f"must be another release than --from, which is {a}")
    i, j = names.index(a), names.index(b)
    if not through:
        return [a, b]
    return names[i : j + 1] if i < j else names[j : i + 1][::-1]


def inputs_of(
    path: str,
    releases: Sequence[str],
    gates: Mapping[str, bool],
    one_pass: bool = False,
    config: str | None = None,
    seed: int | None = None,
    unknown: Unknown = "error",
    choices: Choices = AS_UPSTREAM,
) -> list[Inputs]:
    """Return the inputs of a file's runs, one for each release. Raises InputError."""
    data = read_bytes(path)
    if not one_pass and is_scenario(data):
        return _in_time(data, path, releases, gates, config, seed, unknown, choices)
    raws = objects_in(data, path)
    found: list[Inputs] = []
    for name in releases:
        release = with_known_gates(get_release(name), gates)
        read = partial(load, release=release, unknown=unknown)
        raw = read_config(config) if config else usable_configuration(raws, read)
        whole = prepared(path, raws, release.name, read(raw), choices)
        if not found:
            tell(whole, [])
        objects = {(type(obj).__name__, obj.key): obj for obj in whole.objects}
        how = ("name", True, None) if seed is None else ("seed", True, None)
        found.append(Inputs(release, raw, seed or 0, *how, objects, unknown_plugins=unknown))
    return found


def _in_time(
    data: bytes,
    path: str,
    releases: Sequence[str],
    gates: Mapping[str, bool],
    config: str | None,
    seed: int | None,
    unknown: Unknown,
    choices: Choices,
) -> list[Inputs]:
    scenario = load_scenario(data, path)
    spec = scenario.spec
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    one = Inputs(
        get_release(releases[0]),
        read_config(config).decode(errors="replace") if config else spec.config,
        spec.seed if seed is None else seed,
        spec.tie_break,
        spec.preemption,
        spec.percentage,
        {_key(obj): obj for obj in spec.objects},
        unknown_plugins=unknown,
        time={name: value for name, value in plain.items() if name not in SETTINGS},
        until=scenario.until(),
        choices=choices,
    )
    gates = {**spec.feature_gates, **gates}
    return [replace(one, release=with_known_gates(get_release(name), gates)) for name in releases]


def _key(obj: dict[str, Any]) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(obj.get("kind")), "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))


# ---- output


def _write(step: UpgradeStep, out: IO[str]) -> None:
    print(f"{step.a} → {step.b}: {upgrade_sentence(step.summary)}", file=out)
    for group in step.groups():
        print(f"  {_named(step, group.cause)}", file=out)
        for kind, pods in group.pods.items():
            print(f"    {kind}: {some(pods, MOST_NAMED)}", file=out)
    moved = [one for one in step.changed if one.change in DECISIONS]
    rows = [(one.pod, one.change, _where(one.a), _where(one.b)) for one in moved[:ROWS]]
    write_table([("POD", "", step.a, step.b), *rows] if rows else [], out)
    if len(moved) > ROWS:
        print(f"and {count(len(moved) - ROWS, 'pod')} more; --json has them all", file=out)
    if step.note:
        print(f"note: {step.note}", file=out)


def _named(step: UpgradeStep, cause: Sequence[int] | None) -> str:
    """Return the behaviours that caused the changes."""
    if cause is None:
        return "for which no cause was found"
    units = [step.units[number] for number in cause]
    return "; and ".join(f"since {u.since}: {u.text}" if u.since else u.text or u.path for u in units)


def _where(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    return outcome.node or (
        f"{outcome.result}, makes room on {outcome.nominated}" if outcome.nominated else outcome.result
    )
