"""python -m scheduler_core diff, fork: compares two runs, of two files or of one file with changes."""

import argparse
from typing import IO, Any

import msgspec

from scheduler_core.cluster.formatting import count
from scheduler_core.commands.console import print_json, write_table
from scheduler_core.commands.query import Played, play
from scheduler_core.compare import differences
from scheduler_core.compare.comparison import SAME, Comparison
from scheduler_core.compare.run_side import RunCycle, RunSide
from scheduler_core.config.loader import load
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import read_changes
from scheduler_core.forks.stages import Stage
from scheduler_core.releases import get_release
from scheduler_core.snapshot.files import read_bytes

ROWS = 200


def side_of(played: Played) -> RunSide:
    """Return a file's run as one side of a comparison. The run must have been played with `keep`."""
    release = get_release(played.settings["release"])
    usual = load(None, release)
    settings = played.settings | differences.configuration_settings(played.configuration)
    return RunSide(
        settings,
        differences.configuration_settings(usual),
        played.recording,
        played.facts,
        lambda numbers: {
            n: RunCycle(CycleTrace.decode(data), names) for n in numbers for data, names in [played.cycles[n - 1]]
        },
        played.objects.__getitem__,
    )


def diff(args: argparse.Namespace, out: IO[str]) -> int:
    """Run a file twice, or two files, and write the differences between the runs.

    Returns 0 if every pod has the same outcome, otherwise 1. Raises InputError.
    """
    a = play(args, keep=True)
    second = argparse.Namespace(**vars(args))
    second.file = args.other or args.file
    second.feature_gates = "" if args.to_release else args.feature_gates
    for name in ("release", "config", "seed"):
        other = getattr(args, f"to_{name}")
        setattr(second, name, getattr(args, name) if other is None else other)
    return _compare(a, play(second, keep=True), args, out)


def fork(args: argparse.Namespace, out: IO[str]) -> int:
    """Run a file, and again with changes from a cycle on, and write the differences. Returns like `diff`."""
    a = play(args, keep=True)
    return _compare(a, play(args, keep=True, stages=[_stage_of(a, args)]), args, out)


def _stage_of(played: Played, args: argparse.Namespace) -> Stage:
    """Return the changes of a fork. Raises InputError."""
    if (args.at is None) == (args.t is None):
        raise InputError("--at", "", "or --t is required, but not both")
    if args.at is not None:
        played.recording.before_cycle(args.at)
    elif not played.in_time:
        raise InputError("--t", "", "is for runs in virtual time; use --at")
    given = {name: getattr(args, f"to_{name}") for name in ("release", "config", "seed")}
    given = {name: value for name, value in given.items() if value is not None}
    settings: dict[str, Any] = {}
    if given:
        settings = {"preemption": True, "percentage": None, "config": played.configuration} | played.settings
        if "release" in given:
            settings["config"] = None  # the release's own, unless another is given
        if "config" in given:
            settings["config"] = read_bytes(given.pop("config"))
        if "seed" in given:
            settings["tie_break"] = "seed"
        settings |= given
    return Stage(args.at, args.t, read_changes([_json(text) for text in args.change]), settings)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as problem:
        raise InputError("--change", "", f"{text[:80]!r} is not JSON: {problem}") from None


def _compare(a: Played, b: Played, args: argparse.Namespace, out: IO[str]) -> int:
    """Write the differences between two runs, or between their cycles of one pod."""
    comparison = Comparison(side_of(a), side_of(b))
    data = comparison.as_dict(args.pod)
    code = int(data["summary"][SAME] < sum(data["summary"].values()))
    if args.json:
        print_json(data, out)
        return code
    print(data["sentence"], file=out)
    for found in data["settings"]:
        print(f"{found['path']}: {_value(found['a'])} → {_value(found['b'])}", file=out)
    for found in data["objects"]:
        name = f"{found['namespace']}/{found['name']}".lstrip("/")
        where = f"{found['kind']} {name} {found['path']}".rstrip()
        print(f"{where}: {_value(found['a'])} → {_value(found['b'])}", file=out)
    if data["more_objects"]:
        print(f"and {count(data['more_objects'], 'more difference')} of objects", file=out)
    if parting := data["divergence"]:
        print(f"The runs diverge in cycle {parting['cycle']:,}, pod {parting['pod']}: {_first(parting)}", file=out)
    if args.pod:
        _write_steps(data["steps"], out)
        return code
    differing = [entry for entry in data["pods"] if entry["change"] != SAME]
    rows = [
        (e["pod"], e["change"].replace("_", " "), _outcome(e["a"]), _outcome(e["b"]), _first(e["first"]))
        for e in differing
    ]
    write_table([("POD", "", "FIRST RUN", "SECOND RUN", "FIRST DIFFERENCE"), *rows[:ROWS]] if rows else [], out)
    if len(rows) > ROWS:
        print(f"and {count(len(rows) - ROWS, 'more pod')}; --json lists all", file=out)
    return code


def _write_steps(steps: list[dict[str, Any]], out: IO[str]) -> None:
    rows = [("", "POINT", "PLUGIN", "FIRST RUN", "SECOND RUN", "")]
    for step in steps:
        example, mark = "", " " if step["same"] else "≠"
        if found := step["example"]:
            more = f" and {count(step['nodes'] - 1)} more" if step["nodes"] > 1 else ""
            example = f"{found['node']}{more}: {_value(found['a'])} → {_value(found['b'])}"
        rows.append((mark, step["point"], f"{step['plugin']} {step['part']}".strip(), step["a"], step["b"], example))
    write_table(rows, out)


def _outcome(outcome: dict[str, Any] | None) -> str:
    return "-" if outcome is None else outcome["node"] or outcome["result"]


def _first(first: dict[str, Any] | None) -> str:
    if first is None:
        return ""
    where = " ".join(filter(None, (first["point"], first["plugin"], first.get("part", ""))))
    at = f" on {first['node']}" if first["node"] else ""
    return f"{where}{at}: {_value(first.get('a'))} → {_value(first.get('b'))}"


def _value(value: Any) -> str:
    return (
        "nothing" if value in (None, "") else value if isinstance(value, str) else msgspec.json.encode(value).decode()
    )
