"""python -m scheduler_core: the commands."""

import argparse
import sys
from pathlib import Path

from scheduler_core.errors import InputError


def main(argv: list[str] | None = None) -> int:
    """Runs a command; returns 0, 1 for a finding, 2 for bad usage or input."""
    parser = argparse.ArgumentParser(
        prog="python -m scheduler_core",
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
    simulate.add_argument(
        "--allow-extender", metavar="HOST[:PORT]", action="append", default=[], help="ask extenders there; repeatable"
    )
    simulate.set_defaults(run=_simulate)
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
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except InputError as problem:
        print(f"{parser.prog} {args.command}: {problem}", file=sys.stderr)
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
        "Example: kubectl get nodes,pods,pv,pvc,sc,pdb,ns -A -o json > snapshot.json; "
        "python -m scheduler_core explain snapshot.json --pod default/web-0",
    )
    explain.add_argument(
        "snapshot", metavar="SNAPSHOT", help="output of kubectl get -o json|yaml, also .gz; - for stdin"
    )
    explain.add_argument("--release", default="1.34", help="Kubernetes release whose scheduler decides (default: 1.34)")
    explain.add_argument("--config", metavar="FILE", help="a KubeSchedulerConfiguration (YAML or JSON)")
    explain.add_argument("--pod", metavar="NS/NAME", help="only this pod; if it runs, as if it were pending again")
    explain.add_argument(
        "--plugins",
        metavar="MODULE:CLASS",
        action="append",
        default=[],
        help="an out-of-tree plugin in Python, also FILE.py:CLASS; may be repeated; without --config it is enabled",
    )
    explain.add_argument("--skip-unknown", action="store_true", help="leave out plugins of FILE that do not exist here")
    explain.add_argument("--json", action="store_true", help="print one JSON object per pod instead of text")
    explain.set_defaults(run=_explain)


def _explain(args: argparse.Namespace) -> int:
    from scheduler_core.explain.command import run

    return run(
        args.snapshot,
        sys.stdout,
        release=args.release,
        config=args.config,
        pod=args.pod,
        plugins=args.plugins,
        skip_unknown=args.skip_unknown,
        as_json=args.json,
    )


def _replay(args: argparse.Namespace) -> int:
    from scheduler_core.replay import replay

    return replay(args.cases, sys.stdout.buffer)


def _replay_time(args: argparse.Namespace) -> int:
    from scheduler_core.replay import replay
    from scheduler_core.replay_time import replay_case

    return replay(args.cases, sys.stdout.buffer, replay_case)


def _simulate(args: argparse.Namespace) -> int:
    from scheduler_core.simulate import simulate

    return simulate(args.file, sys.stdout, args.format, args.until, args.seed, args.allow_extender)


def _bench(args: argparse.Namespace) -> int:
    import json

    from scheduler_core import bench

    figures = bench.run(args.workload, args.nodes, args.pods, args.percentage, args.release, args.openb or bench.OPENB)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
