"""The command line: python -m scheduler_core."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scheduler_core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler_core.commands.query import Played
    from scheduler_core.debugger.fork.stages import Stage
    from scheduler_core.snapshot.preflight import Choices


def main(argv: list[str] | None = None, prog: str = "python -m scheduler_core") -> int:
    """Run a command. Return 0, 1 for a finding, 2 for bad usage or input."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="The Kubernetes scheduler as a library, on the command line.",
        epilog="Exit code: 0, 1 for a finding, 2 for bad usage or input. COMMAND --help tells more.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    replay = commands.add_parser(
        "replay",
        help="replay conformance cases and print the decisions",
        description="Schedules the pods of every case (a JSON line with kubernetes, objects, pods, config, preempt, "
        "percentage) and prints its decisions as a JSON line.",
        epilog="Exit code: 0, or 1 if a case could not be replayed; the others are printed all the same.",
    )
    replay.add_argument("cases", metavar="CASES", help="a .jsonl file, a .jsonl.gz file, or - for standard input")
    replay.set_defaults(run=_replay)
    replay_time = commands.add_parser("replay-time", help="replay cases of scheduling over time")
    replay_time.add_argument("cases", metavar="CASES", help="a .jsonl file, a .jsonl.gz file, or - for standard input")
    replay_time.set_defaults(run=_replay_time)
    simulate = commands.add_parser("simulate", help="run a scenario file in virtual time; see docs/scenario.md")
    simulate.add_argument("file", metavar="FILE", help="a Scenario (YAML or JSON), or - for standard input")
    simulate.add_argument("--format", choices=("table", "jsonl"), default="table", help="one row or one object a line")
    simulate.add_argument("--until", type=float, help="when to stop, in seconds, instead of the file's")
    simulate.add_argument("--seed", type=int, help="instead of the file's")
    _add_gates(simulate)
    simulate.add_argument(
        "--allow-extender", metavar="HOST[:PORT]", action="append", default=[], help="ask extenders there; repeatable"
    )
    simulate.add_argument(
        "--leave-out-unknown", action="store_true", help="leave out plugins of the configuration that do not exist here"
    )
    _add_choices(simulate)
    simulate.set_defaults(run=_simulate)
    releases = commands.add_parser("releases", help="print what changed in which release: docs/releases.md")
    releases.set_defaults(run=_releases)
    bench = commands.add_parser("bench", help="measure pods per second, with every decision recorded; prints JSON")
    bench.add_argument(
        "--workload", default="basic", help="basic, spread, antiaffinity, prefaffinity, preemption, openb"
    )
    bench.add_argument("--nodes", type=int, default=1000, help="number of nodes (openb: 0 for all)")
    bench.add_argument("--pods", type=int, default=1000, help="number of pods (openb: 0 for all)")
    bench.add_argument("--percentage", type=int, default=100, help="percentageOfNodesToScore, 0 for the adaptive rule")
    bench.add_argument("--release", default="1.34", help="Kubernetes release")
    bench.add_argument("--openb", type=Path, help="the folder of the openb trace")
    bench.set_defaults(run=_bench)
    _add_explain(commands)
    _add_asking(commands)
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except InputError as problem:
        from scheduler_core.config import UnknownPlugins, UnreadPolicy

        way_out = isinstance(problem, UnknownPlugins) and hasattr(args, "leave_out_unknown")
        hint = "; --leave-out-unknown goes on without them" if way_out else ""
        if isinstance(problem, UnreadPolicy) and problem.instead:
            hint = f"\nThe same for that release:\n\n{problem.instead}"
        print(f"{parser.prog} {args.command}: {problem}{hint}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def _add_explain(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    explain = commands.add_parser(
        "explain",
        help="why the pending pods of a cluster snapshot are pending, or where they would go",
        description="Schedules the pending pods of a snapshot and says of each why it lands where it does, or nowhere: "
        "the decisive reasons, the closest nodes and what they lack, the scores, what would have to change.",
        epilog="Exit code: 0 if every pod finds a node, 1 if one stays pending, 2 for bad usage or input. "
        "Example: kubectl get nodes,pods,pv,pvc,sc,csinodes,pc,pdb,ns -A -o json > snapshot.json; "
        "%(prog)s snapshot.json --pod default/web-0",
    )
    explain.add_argument(
        "snapshot", metavar="SNAPSHOT", help="output of kubectl get -o json|yaml, also .gz; - for stdin"
    )
    explain.add_argument("--release", help="Kubernetes release whose scheduler decides (default: the newest)")
    _add_gates(explain)
    explain.add_argument("--config", metavar="FILE", help="a KubeSchedulerConfiguration (YAML or JSON)")
    explain.add_argument("--pod", metavar="NS/NAME", help="only this pod; if it runs, as if it were pending again")
    explain.add_argument(
        "--plugins",
        metavar="MODULE:CLASS",
        action="append",
        default=[],
        help="an out-of-tree plugin in Python, also FILE.py:CLASS; may be repeated; without --config it is enabled",
    )
    explain.add_argument(
        "--leave-out-unknown", action="store_true", help="leave out plugins of the configuration that do not exist here"
    )
    explain.add_argument("--json", action="store_true", help="print one JSON object per pod instead of text")
    _add_choices(explain)
    explain.set_defaults(run=_explain)


def _add_asking(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    state = commands.add_parser(
        "state",
        help="the cluster at any moment of a run of a file",
        description="Runs a snapshot or a scenario and prints the cluster as it was at a moment; see docs/debugger.md.",
    )
    _add_run(state)
    moment = state.add_mutually_exclusive_group()
    moment.add_argument("--cycle", type=int, metavar="K", help="before cycle K; else at the end")
    moment.add_argument("--t", type=float, metavar="SECONDS", help="after everything until that second")
    moment.add_argument("--seq", type=int, metavar="N", help="of a run in time: after the record of that number")
    state.add_argument("--since", type=float, metavar="J", help="what changed since then, as JSON; in the same unit")
    state.set_defaults(run=_state)
    find = commands.add_parser(
        "find",
        help="the cycles of a run of a file where an expression is true",
        description="Runs a snapshot or a scenario and prints the cycles where a CEL expression is true, such as "
        '\'result == "unschedulable" && refused_by("NodeAffinity")\'; see docs/debugger.md.',
        epilog="Exit code: 0, 1 if no cycle matches, 2 for bad usage or input.",
    )
    _add_run(find)
    find.add_argument("where", metavar="EXPRESSION", help="a CEL expression over one cycle")
    find.add_argument("--from", dest="start", type=int, metavar="K", help="the cycle to begin at")
    find.add_argument("--direction", choices=("next", "previous", "all"), default="all")
    find.add_argument("--limit", type=int, default=100, help="how many at most (default: 100)")
    find.set_defaults(run=_find)
    remedies = commands.add_parser(
        "remedies",
        help="what would let a pod of a run of a file in, each tried before it is told",
        description="Runs a snapshot or a scenario and prints what would let a pod in that fits nowhere, or go to "
        "a node; without a pod, what all pending pods lack together. See docs/debugger.md.",
        epilog="Exit code: 0, 1 if there is nothing that would, 2 for bad usage or input.",
    )
    _add_run(remedies)
    remedies.add_argument("--pod", metavar="NS/NAME", help="the pod; without it all that are pending at the end")
    remedies.add_argument("--attempt", type=int, metavar="N", help="its attempt (default: the last)")
    remedies.add_argument("--node", metavar="NODE", help="what would have the pod go there")
    remedies.set_defaults(run=_remedies)

    diff = commands.add_parser(
        "diff",
        help="what differs between two runs: of two files, or of one with other settings",
        description="Runs a file twice, or two files, and prints what differs: settings, objects, where the runs part, "
        "what became of each pod and what differs first; see docs/debugger.md.",
        epilog="Exit code: 0 if every pod comes to the same, 1 if not, 2 for bad usage or input.",
    )
    _add_run(diff)
    diff.add_argument("other", metavar="OTHER", nargs="?", help="another file; without it the same one")
    diff.add_argument("--to-release", help="the second run's Kubernetes release; '1.36 A=true' has feature gates")
    diff.add_argument("--to-config", metavar="FILE", help="the second run's KubeSchedulerConfiguration")
    diff.add_argument("--to-seed", type=int, help="the second run's seed")
    diff.add_argument("--pod", metavar="NS/NAME", help="this pod alone, plugin by plugin")
    diff.set_defaults(run=_diff)

    upgrade = commands.add_parser(
        "upgrade",
        help="what another Kubernetes release would do with a file, and which of its changes do it",
        description="Runs a file with one release and with another and prints every pod that comes to something else, "
        "with the behaviours of the release that did it: each is switched alone, and where none does alone in a "
        "smallest set. Messages that only read differently are told apart. See docs/debugger.md.",
        epilog="Exit code: 0 if every pod comes to the same, 1 if not, 2 for bad usage or input. "
        "Example: %(prog)s cluster.json --from 1.27 --to 1.34 --through",
    )
    _add_run(upgrade)
    upgrade.add_argument("--from", dest="first", required=True, metavar="RELEASE", help="the release to come from")
    upgrade.add_argument("--to", dest="last", required=True, metavar="RELEASE", help="the release to go to")
    upgrade.add_argument("--through", action="store_true", help="step by step, over every release between them")
    upgrade.set_defaults(run=_upgrade)

    provenance = commands.add_parser(
        "provenance",
        help="where a number of a run of a file comes from",
        description="Runs a snapshot or a scenario and prints what a verdict, a score or a choice was computed from, "
        "down to fields of objects; see docs/debugger.md.",
    )
    _add_run(provenance)
    provenance.add_argument("--pod", metavar="NS/NAME", required=True)
    provenance.add_argument(
        "--point", metavar="POINT", required=True, help="filter, raw, normalized, weighted, total or preemption"
    )
    provenance.add_argument("--plugin", metavar="NAME", default="", help="for all points but total")
    provenance.add_argument("--node", metavar="NODE", default="", help="default: the node that was chosen")
    provenance.add_argument("--attempt", type=int, metavar="N", help="default: the last one")
    provenance.add_argument("--page", type=int, default=1, metavar="N", help="of sums over many pods")
    provenance.set_defaults(run=_provenance)

    fork = commands.add_parser(
        "fork",
        help="what a change before some cycle of a run of a file would have made of it",
        description="Runs a file, and again with something changed before a cycle, and prints what differs, as diff; "
        "see docs/debugger.md.",
        epilog="Exit code: 0 if every pod comes to the same, 1 if not, 2 for bad usage or input. "
        'Example: %(prog)s cluster.json --at 7 --change \'{"cordon": "n1"}\'',
    )
    _add_run(fork)
    fork.add_argument("--at", type=int, metavar="K", help="before cycle K")
    fork.add_argument("--t", type=float, metavar="SECONDS", help="of a run in time: after everything until that second")
    fork.add_argument("--change", action="append", default=[], metavar="JSON", help="a change; may be repeated")
    fork.add_argument("--to-release", help="another Kubernetes release from there on; '1.36 A=true' has feature gates")
    fork.add_argument("--to-config", metavar="FILE", help="another KubeSchedulerConfiguration from there on")
    fork.add_argument("--to-seed", type=int, help="another seed from there on")
    fork.add_argument("--pod", metavar="NS/NAME", help="this pod alone, plugin by plugin")
    fork.set_defaults(run=_fork)


def _add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="a snapshot (kubectl get -o json) or a Scenario; - for stdin")
    command.add_argument("--one-pass", action="store_true", help="one cycle a pod, also of a Scenario")
    command.add_argument("--release", help="Kubernetes release (default: the newest, or the scenario's)")
    _add_gates(command)
    command.add_argument("--config", metavar="FILE", help="a KubeSchedulerConfiguration (YAML or JSON)")
    command.add_argument("--seed", type=int, help="for ties (default: the first by name, or the scenario's)")
    command.add_argument(
        "--leave-out-unknown", action="store_true", help="leave out plugins of the configuration that do not exist here"
    )
    command.add_argument("--json", action="store_true", help="print the answer as the API gives it")
    _add_choices(command)


def _add_gates(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--feature-gates", default="", metavar="A=true,B=false", help="gates that are not as in the release by default"
    )


def _add_choices(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--take-other-schedulers",
        dest="other_schedulers",
        action="store_const",
        const="take",
        default="leave",
        help="pods of schedulers that are not configured are scheduled by the default profile",
    )
    command.add_argument(
        "--absent-claims",
        choices=("error", "bound"),
        default="error",
        help="what to take claims for that pods name and the snapshot does not hold (default: error)",
    )


def _choices(args: argparse.Namespace) -> "Choices":
    from scheduler_core.snapshot.preflight import Choices

    return Choices.parse(args.other_schedulers, args.absent_claims)


def _explain(args: argparse.Namespace) -> int:
    from scheduler_core.commands.explain import run
    from scheduler_core.releases import NEWEST

    return run(
        args.snapshot,
        sys.stdout,
        release=f"{args.release or NEWEST} {args.feature_gates}".strip(),
        config=args.config,
        pod=args.pod,
        plugins=args.plugins,
        leave_out_unknown=args.leave_out_unknown,
        as_json=args.json,
        choices=_choices(args),
    )


def _state(args: argparse.Namespace) -> int:
    from scheduler_core.commands import query

    return query.state(_played(args), sys.stdout, args.cycle, args.t, args.seq, args.since, args.json)


def _find(args: argparse.Namespace) -> int:
    from scheduler_core.commands import query

    return query.find(_played(args), sys.stdout, args.where, args.start, args.direction, args.limit, args.json)


def _provenance(args: argparse.Namespace) -> int:
    from scheduler_core.commands.provenance import provenance
    from scheduler_core.debugger.provenance import Question

    question = Question(args.point, args.node, args.plugin, args.page)
    return provenance(_played(args, keep=True), sys.stdout, args.pod, question, args.attempt, args.json)


def _diff(args: argparse.Namespace) -> int:
    from scheduler_core.commands import diff

    a = _played(args, keep=True)
    args.file = args.other or args.file
    args.feature_gates = "" if args.to_release else args.feature_gates
    for name in ("release", "config", "seed"):
        other = getattr(args, f"to_{name}")
        setattr(args, name, getattr(args, name) if other is None else other)
    return diff.diff(a, _played(args, keep=True), sys.stdout, args.pod or "", args.json)


def _upgrade(args: argparse.Namespace) -> int:
    from scheduler_core.commands import upgrade

    if args.release:
        raise InputError("--release", "", "is told by --from and --to here")
    return upgrade.run(
        args.file,
        sys.stdout,
        upgrade.chosen(args.first, args.last, args.through),
        gates=args.feature_gates,
        one_pass=args.one_pass,
        config=args.config,
        seed=args.seed,
        unknown="leave_out" if args.leave_out_unknown else "error",
        choices=_choices(args),
        as_json=args.json,
    )


def _remedies(args: argparse.Namespace) -> int:
    from scheduler_core.commands import remedies

    return remedies.run(_played(args), sys.stdout, args.pod, args.attempt, args.node, args.json)


def _fork(args: argparse.Namespace) -> int:
    from scheduler_core.commands import diff

    a = _played(args, keep=True)
    others = {"release": args.to_release, "config": args.to_config, "seed": args.to_seed}
    stage = diff.stage_of(a, args.at, args.t, args.change, others)
    return diff.diff(a, _played(args, keep=True, stages=[stage]), sys.stdout, args.pod or "", args.json)


def _played(args: argparse.Namespace, keep: bool = False, stages: "Sequence[Stage]" = ()) -> "Played":
    from scheduler_core.commands.query import play

    return play(
        args.file,
        one_pass=args.one_pass,
        release=args.release,
        gates=args.feature_gates,
        config=args.config,
        seed=args.seed,
        unknown="leave_out" if args.leave_out_unknown else "error",
        choices=_choices(args),
        keep=keep,
        stages=stages,
    )


def _releases(args: argparse.Namespace) -> int:
    from scheduler_core.releases.changelog_page import page

    sys.stdout.write(page())
    return 0


def _replay(args: argparse.Namespace) -> int:
    from scheduler_core.commands.replay import replay

    return replay(args.cases, sys.stdout.buffer)


def _replay_time(args: argparse.Namespace) -> int:
    from scheduler_core.commands.replay import replay
    from scheduler_core.commands.replay_time import replay_case

    return replay(args.cases, sys.stdout.buffer, replay_case)


def _simulate(args: argparse.Namespace) -> int:
    from scheduler_core.commands.simulate import simulate

    return simulate(
        args.file,
        sys.stdout,
        args.format,
        args.until,
        args.seed,
        args.allow_extender,
        "leave_out" if args.leave_out_unknown else "error",
        _choices(args),
        args.feature_gates,
    )


def _bench(args: argparse.Namespace) -> int:
    import json

    from scheduler_core.commands import bench

    figures = bench.run(args.workload, args.nodes, args.pods, args.percentage, args.release, args.openb or bench.OPENB)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
