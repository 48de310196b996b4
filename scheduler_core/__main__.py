"""The command line: python -m scheduler_core. Each command is a function of a module in `commands`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scheduler_core.errors import InputError

if TYPE_CHECKING:
    from scheduler_core.snapshot.files import Reader

EXIT_SAME = "Exit code: 0 if every pod has the same outcome, 1 if not, 2 for bad usage or input."

RELEASE = "Kubernetes release of the scheduler, such as 1.31 or 1.31.8 (default: of the file's cluster, or the newest)"
CONFIG = "a KubeSchedulerConfiguration (YAML or JSON)"

Commands = Any  # argparse has no public name for the type


def main(argv: list[str] | None = None, prog: str = "python -m scheduler_core", reader: Reader | None = None) -> int:
    """Run a command. Return its exit code: 0, 1 for a finding, 2 for bad usage or input.

    `reader`: reads snapshots; None for `read_snapshot`, which reads the output of kubectl.
    """
    parser = parser_of(prog)
    args = parser.parse_args(argv, argparse.Namespace(reader=reader))
    module, _, function = args.run.partition(":")
    try:
        return int(getattr(import_module(f"scheduler_core.commands.{module}"), function)(args, sys.stdout))
    except InputError as problem:
        print(f"{parser.prog} {args.command}: {problem}{_hint(problem, args)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def parser_of(prog: str) -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="The Kubernetes scheduler as a library, on the command line.",
        epilog="Exit code: 0, 1 for a finding, 2 for bad usage or input. COMMAND --help describes a command.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_replays(commands)
    _add_simulate(commands)
    _add(commands, "releases", "releases:run", help="print the changes of each release: docs/releases.md")
    _add_bench(commands)
    _add_openb(commands)
    _add_experiment(commands)
    _add_explain(commands)
    _add_why_message(commands)
    _add_queries(commands)
    _add_comparisons(commands)
    _add_shadow(commands)
    _add_mcp(commands)
    _add_log(commands)
    _add_scenario(commands)
    return parser


def _hint(problem: InputError, args: argparse.Namespace) -> str:
    from scheduler_core.config import UnknownPlugins, UnreadPolicy

    if isinstance(problem, UnreadPolicy) and problem.instead:
        return f"\nIts equivalent for this release:\n\n{problem.instead}"
    leaves_out = isinstance(problem, UnknownPlugins) and hasattr(args, "unknown_plugins")
    return "; --leave-out-unknown ignores them" if leaves_out else ""


def _add(commands: Commands, name: str, run: str, **texts: Any) -> argparse.ArgumentParser:
    """Add a command. `run`: its function, as `module:function`."""
    parser: argparse.ArgumentParser = commands.add_parser(name, **texts)
    parser.set_defaults(run=run)
    return parser


def _add_replays(commands: Commands) -> None:
    replay = _add(
        commands,
        "replay",
        "replay:run",
        help="replay conformance cases and print the decisions",
        description="Schedules the pods of every case (a JSON line with kubernetes, objects, pods, config, preempt, "
        "percentage) and prints its decisions as a JSON line.",
        epilog="Exit code: 0, or 1 if a case could not be replayed; all other cases are still printed.",
    )
    replay_time = _add(commands, "replay-time", "replay_time:run", help="replay conformance cases in virtual time")
    for command in (replay, replay_time):
        command.add_argument("cases", metavar="CASES", help="a .jsonl file, a .jsonl.gz file, or - for standard input")
        _add_unknown(command)


def _add_simulate(commands: Commands) -> None:
    text = "run a scenario file in virtual time; see docs/scenario.md"
    simulate = _add(commands, "simulate", "simulate:run", help=text)
    add = simulate.add_argument
    add("file", metavar="FILE", help="a Scenario (YAML or JSON), or - for standard input")
    add("--format", choices=("table", "jsonl"), default="table", help="a table or JSON lines")
    add("--until", type=float, help="end of the run in seconds; overrides the file")
    add("--seed", type=int, help="seed; overrides the file")
    text = "allow calls to extenders on this host; repeatable"
    add("--allow-extender", metavar="HOST[:PORT]", action="append", default=[], help=text)
    _add_settings(simulate)


def _add_bench(commands: Commands) -> None:
    text = "measure pods per second, with every decision recorded; prints JSON"
    add = _add(commands, "bench", "bench:command", help=text).add_argument
    add("--workload", default="basic", help="see docs/performance.md, such as mixed or basic (default: %(default)s)")
    add("--nodes", type=int, default=1000, help="number of nodes (openb: 0 for all)")
    add("--pods", type=int, default=1000, help="number of pods (openb: 0 for all)")
    add("--percentage", type=int, default=100, help="percentageOfNodesToScore, 0 for the adaptive rule")
    add("--release", default="1.34", help="Kubernetes release")
    add("--folder", type=Path, help="folder of the openb trace, or of snapshots of clusters")
    add("--no-trace", action="store_true", help="record and encode nothing")


def _add_openb(commands: Commands) -> None:
    openb = _add(
        commands,
        "openb",
        "openb:run",
        help="compare placement policies for GPUs on the openb trace: docs/experiments.md",
        description="Places the arriving pods of the openb trace by each policy and prints, as JSON lines, how much of "
        "the GPUs is allocated and how much is fragmented, and last the means over the seeds.",
    )
    openb.add_argument("nodes", metavar="NODES", help="openb_node_list_*.csv, may be gzipped")
    openb.add_argument("pods", metavar="PODS", help="openb_pod_list_*.csv, may be gzipped")
    openb.add_argument("--policies", nargs="+", default=[], metavar="POLICY", help="default: all")
    openb.add_argument("--seeds", type=int, default=10, metavar="N", help="runs of each policy (default: 10)")


def _add_experiment(commands: Commands) -> None:
    experiment = _add(
        commands,
        "experiment",
        "experiment:run",
        help="answer a question by many runs of a scenario: docs/experiments.md",
        description="Computes the cells of an Experiment document and prints each as a JSON line when it is finished, "
        "and last the answer.",
        epilog="Exit code: 0, 1 if a cell failed, 2 for bad usage or input.",
    )
    add = experiment.add_argument
    add("file", metavar="FILE", nargs="?", help="an Experiment (YAML or JSON), or - for standard input")
    add("--schema", action="store_true", help="print the JSON schema of Experiment documents")
    add("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: processors)")
    _add_choices(experiment)


def _add_explain(commands: Commands) -> None:
    explain = _add(
        commands,
        "explain",
        "explain:run",
        help="explain why the pending pods of a cluster snapshot are pending, or where they would be placed",
        description="Schedules the pending pods of a snapshot and explains each result: the decisive reasons, the "
        "closest nodes and what they lack, the scores, and suggested fixes.",
        epilog="Exit code: 0 if every pod finds a node, 1 if one stays pending, 2 for bad usage or input. "
        "Example: %(prog)s snapshot.json --pod default/web-0. docs/formats.md lists the objects of a snapshot.",
    )
    add = explain.add_argument
    add("snapshot", metavar="SNAPSHOT", help="output of kubectl get -o json|yaml, also .gz; - for standard input")
    add("--release", help=RELEASE)
    add("--config", metavar="FILE", help=CONFIG)
    add("--pod", metavar="NS/NAME", help="only this pod; a bound pod is made pending again")
    text = "an out-of-tree plugin in Python, also FILE.py:CLASS; repeatable; enabled unless --config is given"
    add("--plugins", metavar="MODULE:CLASS", action="append", default=[], help=text)
    add("--json", action="store_true", help="print one JSON object per pod instead of text")
    _add_settings(explain)


def _add_why_message(commands: Commands) -> None:
    command = _add(
        commands,
        "why-message",
        "why_message:run",
        help="explain a message of FailedScheduling without its cluster",
        description="Finds the messages of FailedScheduling in a text, such as the output of kubectl describe pod or "
        "kubectl get events, and prints what each reason says, its plugin and number of nodes, the releases that word "
        "it so, and what to ask kubectl next. See docs/answers.md.",
        epilog="Exit code: 0, 2 for bad usage or a text without a message. Example: kubectl describe pod web-0 | "
        "%(prog)s",
    )
    add = command.add_argument
    add("text", metavar="TEXT", nargs="*", help="the text (default: standard input)")
    add("--file", metavar="FILE", help="a file with the text, also .gz; - for standard input")
    add("--json", action="store_true", help="print one JSON object per message instead of text")


def _add_queries(commands: Commands) -> None:
    state = _add_run(
        commands,
        "state",
        "query:state",
        help="print the cluster at any timepoint of a run",
        description="Runs a snapshot or a scenario and prints the cluster at a timepoint; see docs/debugger.md.",
    )
    add = state.add_mutually_exclusive_group().add_argument
    add("--cycle", type=int, metavar="K", help="before cycle K (default: at the end)")
    add("--t", type=float, metavar="SECONDS", help="after everything up to that second")
    add("--seq", type=int, metavar="N", help="in virtual time: after the record with that number")
    state.add_argument("--since", type=float, metavar="J", help="print the changes since J, in the same unit, as JSON")

    add = _add_run(
        commands,
        "find",
        "query:find",
        help="print the cycles of a run for which an expression is true",
        description="Runs a snapshot or a scenario and prints the cycles for which a CEL expression is true, such as "
        '\'result == "unschedulable" && refused_by("NodeAffinity")\'; see docs/debugger.md.',
        epilog="Exit code: 0, 1 if no cycle matches, 2 for bad usage or input.",
    ).add_argument
    add("where", metavar="EXPRESSION", help="a CEL expression over one cycle")
    add("--from", dest="start", type=int, metavar="K", help="first cycle of the search")
    add("--direction", choices=("next", "previous", "all"), default="all")
    add("--limit", type=int, default=100, help="maximum number of cycles (default: 100)")

    add = _add_run(
        commands,
        "remedies",
        "query:remedies",
        help="print suggested fixes for a pod of a run, each of them verified",
        description="Runs a snapshot or a scenario and prints changes that place the pending pods of a workload, or "
        "make a pod go to a node; without a pod, why pods are pending and the best changes. See docs/debugger.md.",
        epilog="Exit code: 0, 1 if no fix was found, 2 for bad usage or input.",
    ).add_argument
    add("--pod", metavar="NS/NAME", help="the pod; without it, all pods pending at the end")
    add("--attempt", type=int, metavar="N", help="attempt of the pod (default: the last)")
    add("--node", metavar="NODE", help="print changes that make the pod go to this node")

    add = _add_run(
        commands,
        "provenance",
        "query:provenance",
        help="print where a number of a run comes from",
        description="Runs a snapshot or a scenario and prints what a verdict, a score or a choice was computed from, "
        "down to fields of objects; see docs/debugger.md.",
    ).add_argument
    add("--pod", metavar="NS/NAME", required=True)
    points = "filter, raw, normalized, weighted, total or preemption"
    add("--point", metavar="POINT", required=True, help=points)
    add("--plugin", metavar="NAME", default="", help="required for all points except total")
    add("--node", metavar="NODE", default="", help="default: the chosen node")
    add("--attempt", type=int, metavar="N", help="default: the last attempt")
    add("--page", type=int, default=1, metavar="N", help="page of sums over many pods")


def _add_comparisons(commands: Commands) -> None:
    diff = _add_run(
        commands,
        "diff",
        "diff:diff",
        help="compare two runs: of two files, or of one file with other settings",
        description="Runs a file twice, or two files, and prints the differences: settings, objects, the first cycle "
        "that differs, and for each pod its outcomes and first difference; see docs/debugger.md.",
        epilog=EXIT_SAME,
    )
    diff.add_argument("other", metavar="OTHER", nargs="?", help="another file; without it, the same one")
    fork = _add_run(
        commands,
        "fork",
        "diff:fork",
        help="compare a run with the same run after a change before some cycle",
        description="Runs a file, and again with something changed before a cycle, and prints the differences, as "
        "diff does; see docs/debugger.md.",
        epilog=f'{EXIT_SAME} Example: %(prog)s cluster.json --at 7 --change \'{{"cordon": "n1"}}\'',
    )
    fork.add_argument("--at", type=int, metavar="K", help="before cycle K")
    fork.add_argument("--t", type=float, metavar="SECONDS", help="in virtual time: after everything up to that second")
    fork.add_argument("--change", action="append", default=[], metavar="JSON", help="a change; repeatable")
    for add, runs in ((diff.add_argument, "of the second run"), (fork.add_argument, "from there on")):
        add("--to-release", help=f"Kubernetes release {runs}; '1.36 A=true' sets feature gates")
        add("--to-config", metavar="FILE", help=f"KubeSchedulerConfiguration {runs}")
        add("--to-seed", type=int, help=f"seed {runs}")
        add("--pod", metavar="NS/NAME", default="", help="only this pod, plugin by plugin")

    add = _add_run(
        commands,
        "upgrade",
        "upgrade:run",
        help="show the effects of another Kubernetes release, and which of its changes cause them",
        description="Runs a file with two releases and prints every pod with another outcome, with the behaviours of "
        "the release that cause it: each is switched alone, and if none suffices alone, a smallest set is searched. "
        "Messages that differ only in wording are listed separately. See docs/debugger.md.",
        epilog=f"{EXIT_SAME} Example: %(prog)s cluster.json --from 1.27 --to 1.34 --through",
    ).add_argument
    add("--from", dest="first", required=True, metavar="RELEASE", help="the present release")
    add("--to", dest="last", required=True, metavar="RELEASE", help="the release to upgrade to")
    add("--through", action="store_true", help="step by step, through every minor release in between")


def _add_shadow(commands: Commands) -> None:
    shadow = _add(
        commands,
        "shadow",
        "shadow:run",
        help="check the decisions of a real scheduler in a recording",
        description="Decides each pod of a recording again that a real scheduler bound or could not place, and "
        "prints a JSON line for each decision and message, and last the counts and the likelihood of each candidate "
        "configuration. docs/live.md describes the outcomes and what a recording is.",
        epilog="Exit code: 0, 1 if a decision is not explained or a message differs, 2 for bad usage or input.",
    )
    shadow.add_argument("recording", metavar="RECORDING", help="a recorded folder, a database of etcd or an audit log")
    shadow.add_argument(
        "--cluster", metavar="FILE", help="a snapshot with objects of the kinds that the recording lacks"
    )
    shadow.add_argument("--release", help="Kubernetes release of the scheduler (default: that of the recording)")
    shadow.add_argument("--config", metavar="FILE", help=CONFIG + " (default: by the decisions)")


def _add_mcp(commands: Commands) -> None:
    mcp = _add(
        commands,
        "mcp",
        "mcp:run",
        help="answer the questions of an assistant over the Model Context Protocol: docs/mcp.md",
        description="Serves tools that only read, over standard input and output, for an assistant that speaks the "
        "Model Context Protocol. Needs the package mcp: pip install 'kubesched[mcp]'.",
    )
    add = mcp.add_argument
    add("--folder", type=Path, default=Path(), help="only its files can be read (default: the current folder)")
    add("--live", action="store_true", help="also read the running cluster, with kubectl and its credentials")
    add("--context", default="", help="context of the kubeconfig for --live (default: the current one)")


def _add_log(commands: Commands) -> None:
    log = _add(
        commands,
        "log",
        "log:run",
        help="show what a kube-scheduler did by its log",
        description="Prints the attempts in a log of kube-scheduler in their order, with their scores, refusals, "
        "evictions and, with --pod, moves between queues. docs/evidence.md says what a log can tell.",
        epilog="Exit code: 0, 1 if an attempt differs from --cluster, 2 for bad usage or input. Example: kubectl logs "
        "-n kube-system kube-scheduler-cp | %(prog)s -",
    )
    add = log.add_argument
    add("file", metavar="FILE", help="klog text or JSON, also .gz; - for standard input")
    text = "compare each attempt: a recording (recorded folder, database of etcd, audit log) or a snapshot of the end "
    text += "of the log; a snapshot after a recording adds the kinds that it lacks"
    add("--cluster", metavar="FILE", action="append", default=[], help=text)
    add("--pod", metavar="NS/NAME", help="only this pod, with its moves between queues and the scores of all nodes")
    add("--json", action="store_true", help="print JSON lines: the log, its entries, its pods and the comparison")
    add("--release", help="Kubernetes release of the simulation (default: that of the log, or of the snapshot)")
    add("--config", metavar="FILE", help=CONFIG + " (default: that of the log, or of the snapshot)")
    _add_gates(log)


def _add_scenario(commands: Commands) -> None:
    scenario = _add(
        commands,
        "scenario",
        "scenario:run",
        help="make a Scenario in virtual time of recorded changes",
        description="Prints a Scenario (JSON) in which the recorded objects arrive, change and leave at their times, "
        "and every decision is made anew. Run it with simulate, or upload it. docs/evidence.md describes it.",
        epilog="Exit code: 0, 2 for bad usage or input. Example: %(prog)s snapshot.db --last 300 > scenario.json",
    )
    text = "a database of etcd, an audit log, a trace of SimKube or a recording of kwok; - for standard input"
    scenario.add_argument("recording", metavar="RECORDING", help=text)
    text = "only the last seconds; what happened before them is in the objects at the start"
    scenario.add_argument("--last", type=float, metavar="SECONDS", help=text)


def _add_run(commands: Commands, name: str, run: str, **texts: Any) -> argparse.ArgumentParser:
    """Add a command that runs a file."""
    command = _add(commands, name, run, **texts)
    add = command.add_argument
    add("file", metavar="FILE", help="a snapshot (kubectl get -o json) or a Scenario; - for standard input")
    add("--one-pass", dest="single_pass", action="store_true", help="one cycle per pod, also for a Scenario")
    add("--release", help=RELEASE)
    add("--config", metavar="FILE", help=CONFIG)
    add("--seed", type=int, help="seed for ties (default: the scenario's, or the first node by name)")
    add("--json", action="store_true", help="print the answer in the format of the API")
    _add_settings(command)
    return command


def _add_settings(command: argparse.ArgumentParser) -> None:
    _add_gates(command)
    _add_unknown(command)
    _add_choices(command)


def _add_gates(command: argparse.ArgumentParser) -> None:
    text = "feature gates that differ from the defaults"
    command.add_argument("--feature-gates", default="", metavar="A=true,B=false", help=text)


def _add_unknown(command: argparse.ArgumentParser) -> None:
    constant: dict[str, Any] = {"action": "store_const", "const": "leave_out", "default": "error"}
    text = "leave out plugins of the configuration that do not exist here"
    command.add_argument("--leave-out-unknown", dest="unknown_plugins", **constant, help=text)


def _add_choices(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    constant: dict[str, Any] = {"action": "store_const", "const": "take", "default": "leave"}
    text = "let the default profile schedule the pods of schedulers that are not configured"
    add("--take-other-schedulers", dest="other_schedulers", **constant, help=text)
    text = "how to treat claims that pods name but the snapshot lacks (default: error)"
    add("--absent-claims", choices=("error", "bound"), default="error", help=text)


if __name__ == "__main__":
    sys.exit(main())
