"""python -m scheduler_core state, find, remedies, provenance: runs and records a file, then queries the recording."""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from scheduler_core.cluster import formatting
from scheduler_core.commands.console import (
    choices_of,
    configuration_of,
    prepared,
    print_json,
    print_notes,
    release_of,
    scenario_release,
    snapshot_of,
    write_table,
)
from scheduler_core.commands.progress import shown
from scheduler_core.config import Configuration
from scheduler_core.config.loader import load
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Fix
from scheduler_core.explain.render import fix_lines
from scheduler_core.forks.stages import Stage, plan_single_pass, plan_virtual_time
from scheduler_core.provenance.tree import Tree
from scheduler_core.recording import timepoints
from scheduler_core.recording.cycle_index import Facts
from scheduler_core.recording.objects import Fetch
from scheduler_core.recording.recording import Recorder, Recording
from scheduler_core.recording.restore import Make, restore_run
from scheduler_core.recording.timepoints import Timepoint
from scheduler_core.releases import Release, get_release
from scheduler_core.releases.feature_gates import parse
from scheduler_core.search.provenance import NotDecided, Question, provenance_of
from scheduler_core.search.search import CycleSearch
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.files import read_bytes
from scheduler_core.suggestions.answers import answers_of
from scheduler_core.suggestions.fixes import ranked_over
from scheduler_core.suggestions.prefer_node import PreferNode, prefer_node
from scheduler_core.virtual_time.scenario import is_scenario, load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun


@dataclass(frozen=True, slots=True)
class Played:
    """A run of a file.

    `cycles`: each encoded, with the nodes in the order of its rows. `objects`: by their number. `configuration`,
    `settings`: those of the run. `skipped`: pod without a node that the scheduler does not try -> why.
    """

    recording: Recording
    facts: Facts
    in_time: bool
    cycles: list[tuple[bytes, list[str]]]
    objects: list[tuple[str, bytes]]
    configuration: Configuration
    settings: dict[str, Any]
    skipped: dict[str, str]

    @property
    def stored(self) -> tuple[Fetch, Make, Release]:
        """Return what `restore_run` and `provenance_of` need of the run besides its recording."""
        release = get_release(self.settings["release"])
        ties = {name: self.settings[name] for name in ("seed", "tie_break")}
        make = partial(Simulation, release=release.name, config=self.configuration, **ties)
        return self.objects.__getitem__, make, release

    def restored(self, moment: int) -> Simulation:
        """Return the run's cluster at a timepoint."""
        fetch, make, release = self.stored
        return restore_run(self.recording, fetch, moment, make, release)

    def cycle_of(self, pod: str, attempt: int | None = None) -> int:
        """Return the number of a pod's cycle, by default of the last one. Raises NotDecided."""
        pods, facts = self.recording.tables["pods"], self.facts.table
        tried = enumerate(zip(facts["pod"].tolist(), facts["attempt"].tolist(), strict=True), 1)
        cycles = {its: number for number, (row, its) in tried if pods.at("key", row) == pod}
        if not cycles:
            raise NotDecided("pod", "", f"{pod[:253]!r} was not tried in this run; name it as namespace/name")
        if attempt is not None and attempt not in cycles:
            raise NotDecided("attempt", "", f"must be one of {', '.join(map(str, cycles))}, got {attempt}")
        return max(cycles.values()) if attempt is None else cycles[attempt]


def play(args: argparse.Namespace, keep: bool = False, stages: Sequence[Stage] = ()) -> Played:
    """Run and record a snapshot in a single pass, or a scenario in virtual time. `args`: options of the command.

    `keep`: store the cycles. `stages`: changes during the run. Raises InputError.
    """
    data = read_bytes(args.file)
    if not args.single_pass and is_scenario(data):
        return _virtual_time(data, args, keep, stages)
    snapshot = snapshot_of(args, data, args.file)
    raws, release = snapshot.objects, release_of(args, snapshot)
    read = partial(load, release=release, unknown=args.unknown_plugins)
    configuration = read(configuration_of(args, raws, read))
    found = prepared(args.file, raws, release, configuration, choices_of(args))
    seed, tie_break = args.seed or 0, "name" if args.seed is None else "seed"
    simulation = Simulation(found.objects, release=release, config=configuration, seed=seed, tie_break=tie_break)
    print_notes(found.warnings, simulation.warnings)
    recorder, cycles, nodes = Recorder(simulation), [], list(simulation.nodes)
    plan_single_pass(simulation, stages, 0)
    for trace in shown(simulation.run(), "pods", len(simulation.to_try)):
        recorder.cycle(trace)
        if keep:
            cycles.append((trace.encode(), list(simulation.nodes) if stages else nodes))
    recorder.rest()
    settings = {"in_time": False, "release": release.name, "seed": seed, "tie_break": tie_break}
    return _played(recorder, simulation, settings, cycles)


def _virtual_time(data: bytes, args: argparse.Namespace, keep: bool, stages: Sequence[Stage]) -> Played:
    scenario = load_scenario(data, args.file)
    spec = scenario.spec
    spec.feature_gates = {**({} if args.release else spec.feature_gates), **parse(args.feature_gates)}
    spec.kubernetes = args.release or scenario_release(spec)
    spec.config = read_bytes(args.config).decode(errors="replace") if args.config else spec.config
    spec.seed = spec.seed if args.seed is None else args.seed
    run = ScenarioRun(
        scenario, data, timer=time.perf_counter_ns, unknown_plugins=args.unknown_plugins, choices=choices_of(args)
    )
    print_notes(run.prepared.warnings, run.simulation.warnings)
    recorder, cycles, nodes = Recorder(run.simulation), [], list(run.simulation.nodes)
    plan_virtual_time(run, stages)
    for record in shown(run.run(), "records"):
        recorder.record(record)
        if record.kind == "nodes.listed":
            nodes = record.data["names"]
        if record.trace is not None and keep:
            cycles.append((record.trace.encode(), nodes))
    settings = {"in_time": True, "release": run.simulation.release.name, "until": run.until}
    settings |= {"seed": spec.seed, "tie_break": spec.tie_break, "preemption": spec.preemption}
    return _played(recorder, run.simulation, settings, cycles)


def _played(
    recorder: Recorder, simulation: Simulation, settings: dict[str, Any], cycles: list[tuple[bytes, list[str]]]
) -> Played:
    recording, facts, objects = recorder.read_back()
    skipped = {}
    for pod in simulation.pending:
        if pod.pod.spec.scheduler_name not in simulation.scheduler.profiles:
            skipped[pod.key] = "left to other schedulers"
        elif pod.terminating:
            skipped[pod.key] = "skipped, because being deleted"
    return Played(recording, facts, settings["in_time"], cycles, objects, simulation.configuration, settings, skipped)


def state(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the cluster at a timepoint, as a table or as JSON of the API. Returns 0. Raises InputError."""
    played = play(args)
    if args.seq is not None and not played.in_time:
        raise InputError("seq", "", "is for runs in virtual time; use --cycle")
    found = timepoints.cluster_at(played.recording, Timepoint(args.cycle, args.t, args.seq), args.since)
    if args.json or args.since is not None:
        print_json(found, out)
        return 0
    cycles, number = played.recording.cycles, found["cycle"]
    where = (
        f"before cycle {number:,} of {cycles:,}" if number <= cycles else f"after {formatting.count(cycles, 'cycle')}"
    )
    print(f"{where}, at {found['t']:g} s", file=out)
    rows = [("NODE", "CPU", "MEMORY", "PODS", "")]
    for node in found["nodes"]:
        has, used = node["allocatable"], node["requested"]
        shares = (
            f"{formatting.amount(name, used[name])} of {formatting.amount(name, has.get(name, 0))}"
            for name in ("cpu", "memory")
        )
        remarks = ["cordoned"] * node["unschedulable"] + node["taints"]
        rows.append((node["name"], *shares, f"{used['pods']} of {has.get('pods', 0)}", ", ".join(remarks)))
    write_table(rows, out)
    for part in ("nominated", "waiting", "orphans"):
        for pod, name in found[part].items():
            print(f"{part}: {pod} on {name}", file=out)
    for pods, what in _pending(found["pending"], played):
        print(f"{formatting.count(len(pods), 'pod')} {what}: {formatting.some(pods, 10) or 'none'}", file=out)
    return 0


def _pending(pods: list[str], played: Played) -> Iterator[tuple[list[str], str]]:
    """Yield the pods without a node that this scheduler tries, and the others with what they wait for."""
    yield [pod for pod in pods if pod not in played.skipped], "pending"
    for what in dict.fromkeys(played.skipped.values()):
        if skipped := [pod for pod in pods if played.skipped.get(pod) == what]:
            yield skipped, what


def find(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the cycles for which an expression is true, one per line. Returns 0, or 1 if there are none.

    Raises InputError.
    """
    played = play(args)
    found = CycleSearch(played.recording, played.facts).find(args.where, args.start, args.direction, args.limit)
    if args.json:
        print_json(found, out)
        return 0 if found["matches"] else 1
    for match in found["matches"]:
        print(f"{match['cycle']:>8}  {match['t']:>10g} s  {match['pod']}  attempt {match['attempt']}", file=out)
    shown = len(found["matches"])
    more = f", {shown:,} shown" if shown < found["total"] else ""
    print(f"{found['total']:,} of {formatting.count(played.recording.cycles, 'cycle')}{more}", file=out)
    if found["note"]:
        print(found["note"], file=out)
    return 0 if found["matches"] else 1


def remedies(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the suggested fixes for a pod and its workload, those that place it on a node, or the best over all pods.

    Returns 0, or 1 if there are none. Raises InputError.
    """
    played = play(args)
    if args.pod is None:
        return _best(played, out, args.json)
    pod = args.pod if "/" in args.pod else f"default/{args.pod}"
    number = played.cycle_of(pod, args.attempt)
    simulation = played.restored(played.recording.before_cycle(number))
    if args.node:
        attempt = int(played.facts.table["attempt"][number - 1])
        return _prefer(prefer_node(simulation, pod, args.node, attempt=attempt), args, out)
    found = [alike.answer for alike in answers_of(simulation, only={pod})]
    none = found[0].no_fixes if found else ""
    fixes = [fix for answer in found for fix in answer.fixes]
    return _write_fixes(fixes, none or f"{pod} needs no fix, or no fix was found.", out, args.json)


def _prefer(found: PreferNode, args: argparse.Namespace, out: IO[str]) -> int:
    none = "" if found.goes_there and not found.tied else f"No fix was found that makes {args.node} the only best node."
    if not args.json:
        print(found.answer.sentence, file=out)
    return _write_fixes(found.fixes, none, out, args.json)


def _best(played: Played, out: IO[str], as_json: bool) -> int:
    simulation = played.restored(played.recording.end)
    found = sorted(answers_of(simulation), key=lambda alike: -len(alike.pods))
    pods = {pod.key: pod for pod in simulation.pending}
    best = ranked_over(simulation, [(alike.answer.fixes, [pods[key] for key in alike.pods]) for alike in found])
    if not as_json:
        print(f"{formatting.count(sum(len(alike.pods) for alike in found), 'pod')} pending.", file=out)
        for alike in found:
            print(f"{len(alike.pods):>6} {alike.answer.sentence} (such as {alike.answer.pod})", file=out)
    return _write_fixes(best, "No fix is needed, or none was found.", out, as_json)


def _write_fixes(fixes: Sequence[Fix], none: str, out: IO[str], as_json: bool) -> int:
    if as_json:
        print_json(fixes, out)
    else:
        for line in fix_lines(fixes) if fixes else filter(None, [none]):
            print(line, file=out)
    return 0 if fixes else 1


def provenance(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the tree of a number of an attempt. Returns 0. Raises InputError."""
    question = Question(args.point, args.node, args.plugin, args.page)
    played = play(args, keep=True)
    number = played.cycle_of(args.pod, args.attempt)
    trace = CycleTrace.decode(played.cycles[number - 1][0])
    tree = provenance_of(played.recording, *played.stored, number, trace).explain(question)
    if args.json:
        print_json(tree, out)
        return 0
    print(tree.text, file=out)
    for line in tree_lines(tree):
        print(line, file=out)
    return 0


def tree_lines(tree: Tree, depth: int = 0) -> Iterator[str]:
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
        yield from tree_lines(arg, depth + 1)
