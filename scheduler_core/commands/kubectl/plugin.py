"""The command line of `kubectl kubesched`, also installed as `kubectl-kubesched`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import IO, Any, NoReturn

import msgspec
from msgspec.structs import replace

from scheduler_core.api.text_checks import escaped_json
from scheduler_core.cluster.formatting import count, some
from scheduler_core.commands.kubectl.cluster_reader import ClusterReader, ReadCluster, sentences
from scheduler_core.commands.kubectl.drain import Drain, drain
from scheduler_core.commands.kubectl.raw_requests import KubectlTransport
from scheduler_core.commands.kubectl.rendering import write_answer, write_group
from scheduler_core.commands.kubectl.server import Server
from scheduler_core.commands.kubectl.shadow import LiveShadow
from scheduler_core.commands.kubectl.terminal import Terminal
from scheduler_core.commands.kubectl.why import (
    PodPlacement,
    all_answers,
    answers_for,
    grouped,
    kind_and_name,
    placements_of_file,
    summary,
)
from scheduler_core.errors import InputError
from scheduler_core.live.discovery import Discovered
from scheduler_core.live.transport import TransportError
from scheduler_core.pending_pods.pending_answer import NEVER, NOT_NOW, NOT_PENDING, PendingAnswer
from scheduler_core.shadow.judgement import DIFFERS, GAP, Judgement
from scheduler_core.snapshot.files import read_bytes

PLACED, EXIT_NEVER, EXIT_NOT_NOW, EXIT_UNDECIDED, EXIT_UNEXPLAINED = 0, 1, 2, 3, 4
USAGE, INPUT, UNREACHABLE, SOFTWARE, INTERRUPTED = 64, 66, 69, 70, 130  # those below 100 as in sysexits.h
EXIT_CODES = """exit codes:
  0    every pod has a node or would get one
  1    never: no node could take a pod, even if it were empty
  2    not now: other pods are in the way
  3    not asked: the scheduler has not decided about a pod; it is gated, waits for a claim, is bound ...
  4    shadow: a decision is not explained, or a message differs
  64   wrong usage
  66   the pod, node or file does not exist or is invalid
  69   the cluster or the server cannot be reached
  70   an error of KubeSched
With several pods, the lowest code from 1 to 3 counts."""
_FLAGS = ("context", "kubeconfig", "cluster", "user", "as", "request-timeout")  # kubectl's, with a value
_LISTED = 20  # pods of a table
MAX_SECONDS = 86_400


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None, out: IO[str] | None = None) -> int:
    """Run the plugin. Return its exit code."""
    stream = out if out is not None else sys.stdout
    args = _parser().parse_args(argv)
    try:
        return int(asyncio.run(args.run(args, stream)))
    except InputError as problem:
        return _fail(str(problem), INPUT)
    except TransportError as problem:
        return _fail(str(problem), UNREACHABLE)
    except BrokenPipeError:
        sys.stderr.close()
        return PLACED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as problem:
        if os.environ.get("KUBESCHED_DEBUG"):
            raise
        text = f"{type(problem).__name__}: {problem}"
        return _fail(f"This is an error of KubeSched: {text[:300]} (KUBESCHED_DEBUG=1 shows more)", SOFTWARE)


def _fail(message: str, code: int) -> int:
    Terminal(sys.stderr).line(message, "error: ", colour="red")
    return code


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = _Parser(
        prog="kubectl kubesched",
        description="Says why pods are pending, whether pods would find a node, and what a drain would do.\n"
        "It only reads, with kubectl and its credentials.",
        epilog=EXIT_CODES,
        formatter_class=formatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    why = commands.add_parser(
        "why",
        help="say why a pod is pending, or whether the pods of a file would find a node",
        description="Says why a pod is pending. Without a pod: why each pending pod of the namespace is.\n"
        "With -f: where the pods of a file and of its workloads would be placed, in the present cluster.",
        epilog=f"examples:\n  kubectl kubesched why web-0 -n shop\n  kubectl kubesched why deploy/web\n"
        f"  kubectl kubesched why -A\n  kubectl kubesched why -f deployment.yaml\n\n{EXIT_CODES}",
        formatter_class=formatter,
    )
    why.add_argument("name", nargs="*", metavar="POD", help="POD, TYPE/NAME or TYPE NAME")
    why.add_argument("-f", "--filename", metavar="FILE", help="YAML or JSON; - for standard input")
    why.add_argument("-A", "--all-namespaces", action="store_true", help="all pending pods of the cluster")
    why.set_defaults(run=run_why, parser=why)
    drained = commands.add_parser(
        "drain",
        help="show where the pods of a node would be placed again",
        description="Shows what `kubectl drain NODE` does: where its pods are placed again, and which stay pending.",
        epilog=EXIT_CODES,
        formatter_class=formatter,
    )
    drained.add_argument("node", metavar="NODE")
    drained.set_defaults(run=run_drain)
    shadow = commands.add_parser(
        "shadow",
        help="follow the cluster for a while and check the decisions of its scheduler",
        description="Decides again what the scheduler of the cluster decides, and shows what it cannot explain.",
        epilog=EXIT_CODES,
        formatter_class=formatter,
    )
    shadow.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    shadow.add_argument("-v", "--verbose", action="store_true", help="show every decision and message")
    shadow.set_defaults(run=run_shadow, parser=shadow)
    why.add_argument(
        "--server", metavar="URL", help="ask this KubeSched server, which follows the cluster of --context"
    )
    why.add_argument("--token-file", metavar="FILE", help="the server's token (default: KUBESCHED_TOKEN)")
    for command in (why, drained):
        command.add_argument("--no-fix", dest="fix", action="store_false", help="do not search for a suggested fix")
    for command in (why, drained, shadow):
        _add_common(command)
    return parser


def _add_common(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("-n", "--namespace", help="namespace (default: that of the context)")
    add("-o", "--output", choices=("json",), help="print JSON")
    add("--release", default="", help="Kubernetes release of the scheduler (default: found in the cluster)")
    add("--config", metavar="FILE", help="a KubeSchedulerConfiguration (default: found in the cluster)")
    group = command.add_argument_group("flags of kubectl")
    for flag in _FLAGS:
        group.add_argument(f"--{flag}", dest=f"kubectl_{flag}", metavar=flag.upper().replace("-", "_"))
    group.add_argument("--as-group", dest="kubectl_as-group", action="append", metavar="GROUP")


def kubectl_flags(args: argparse.Namespace) -> list[str]:
    """Return the flags that are passed on to kubectl."""
    flags = []
    for flag in (*_FLAGS, "as-group"):
        value = getattr(args, f"kubectl_{flag}")
        flags += [f"--{flag}={one}" for one in (value if isinstance(value, list) else [value] if value else [])]
    return flags


async def read_cluster(args: argparse.Namespace) -> tuple[ReadCluster, str]:
    """Read the cluster of the flags. Return it and the namespace."""
    transport = KubectlTransport(kubectl_flags(args))
    namespace = args.namespace or await transport.namespace()
    config = read_bytes(args.config) if args.config else None
    return await ClusterReader(transport, namespace).read(args.release, config), namespace


# ---- why


async def run_why(args: argparse.Namespace, out: IO[str]) -> int:
    """Answer for a pod, a workload, a file or all pending pods."""
    if args.filename and (args.name or args.all_namespaces):
        args.parser.error("-f cannot be combined with a name or -A")
    if args.name and args.all_namespaces:
        args.parser.error("a name cannot be combined with -A")
    if args.token_file and not args.server:
        args.parser.error("--token-file needs --server")
    kind, name = kind_and_name(args.name) if args.name else ("", "")
    terminal = Terminal(out)
    if args.server:
        return await _ask_server(args, kind, name, terminal, out)
    cluster, namespace = await read_cluster(args)
    if args.filename:
        placements = placements_of_file(cluster, args.filename, namespace, args.fix)
        if args.output:
            return _print_json(out, cluster, {"placements": placements}, exit_code(_unplaced(placements)))
        terminal.line("", summary(placements), bold=True)
        _write_placements(terminal, placements)
        _write_notes(terminal, cluster)
        return exit_code(_unplaced(placements))
    key = f"{namespace}/{name}"
    if name:
        answers = answers_for(cluster, kind, key, args.fix)
    else:
        answers = all_answers(cluster, "" if args.all_namespaces else namespace, args.fix)
    if args.output:
        written = [replace(answer, ladder=b"") for answer in answers]  # `details.answer` has what people read of it
        return _print_json(out, cluster, {"answers": written}, exit_code(answers))
    where = "the cluster" if args.all_namespaces else f"namespace {namespace}"
    _write_answers(terminal, answers, f"{kind.lower()} {key}" if name else "", where)
    _write_notes(terminal, cluster)
    return exit_code(answers)


def _write_answers(terminal: Terminal, answers: Sequence[PendingAnswer], name: str, where: str) -> None:
    """Write answers: for a named object with details, otherwise equal ones together."""
    if not answers:
        what = f"No pod of {name}" if name else f"No pod of {where}"
        terminal.line("", f"{what} is pending.", colour="green", bold=True)
    elif not name:
        terminal.line("", _counted(answers, where), bold=True)
    for number, group in enumerate(grouped(answers)):
        if number or not name:
            terminal.line()
        if name:
            write_answer(terminal, group.answer, time.time(), group.others)
        else:
            write_group(terminal, group.answer, group.others)


async def _ask_server(args: argparse.Namespace, kind: str, name: str, terminal: Terminal, out: IO[str]) -> int:
    """Answer with what a server has stored about its cluster."""
    if args.filename or kind not in ("", "Pod") or args.release or args.config:
        args.parser.error("--server answers for pods, with the server's release and configuration")
    server = Server(args.server, args.token_file)
    cluster = server.cluster(args.kubectl_context or "")
    namespace = args.namespace or ("" if args.all_namespaces else "default")
    key = f"{namespace}/{name}" if name else ""
    answers = [server.why(cluster["id"], key)] if name else server.pending(cluster["id"], namespace)
    code, page = exit_code(answers), server.page(cluster["id"], key)
    notes = cluster.get("limits", [])
    if not notes and cluster["state"] != "following" and cluster["message"]:
        notes = [cluster["message"]]
    if args.output:
        found = {"answers": answers, "cluster": cluster["name"], "page": page, "notes": notes}
        return print_json(out, found, code)
    _write_answers(
        terminal, answers, f"pod {key}" if name else "", f"namespace {namespace}" if namespace else "the cluster"
    )
    terminal.line()
    terminal.line(page, "Page: ")
    for note in notes:
        terminal.line(note, "Note: ", "  ", colour="yellow")
    return code


def _counted(answers: Sequence[PendingAnswer], where: str) -> str:
    pods = [answer for answer in answers if answer.subject == "Pod"]
    lacking = len(answers) - len(pods)
    text = f"{count(len(pods), 'pod')} of {where} {'is' if len(pods) == 1 else 'are'} pending"
    return (
        f"{text}; {count(lacking, 'workload')} {'lacks' if lacking == 1 else 'lack'} pods." if lacking else f"{text}."
    )


def exit_code(answers: Iterable[PendingAnswer]) -> int:
    """Return the exit code for answers: the lowest that is not 0."""
    codes = {NEVER: EXIT_NEVER, NOT_NOW: EXIT_NOT_NOW}
    found = [codes.get(one.category, EXIT_UNDECIDED) for one in answers if one.cause != NOT_PENDING]
    return min(found, default=PLACED)


def _unplaced(placements: Iterable[PodPlacement]) -> list[PendingAnswer]:
    return [one.answer for one in placements if one.answer is not None]


# ---- drain


async def run_drain(args: argparse.Namespace, out: IO[str]) -> int:
    """Show what a drain would do."""
    cluster, _ = await read_cluster(args)
    found = drain(cluster, args.node, args.fix)
    code = exit_code(_unplaced(found.placements))
    if args.output:
        return _print_json(out, cluster, {"drain": found}, code)
    terminal = Terminal(out)
    _write_drain(terminal, found)
    _write_notes(terminal, cluster)
    return code


def _write_drain(terminal: Terminal, found: Drain) -> None:
    placed = sum(bool(one.node) for one in found.placements)
    left = len(found.placements) - placed
    text = f"A drain of {found.node} evicts {count(len(found.placements) + len(found.lost), 'pod')}"
    text += f": {placed:,} would be placed again" if found.placements else ""
    text += f", {left:,} would stay pending" if left else ""
    terminal.line("", f"{text}.", bold=True)
    for names, words in (
        (found.refused, "A PodDisruptionBudget refuses the eviction of"),
        (found.lost, "No controller creates these pods again:"),
        (found.stay, "A drain skips pods of DaemonSets and static pods:"),
    ):
        if names:
            terminal.line(f"{words} {some(names, 5)}.", indent="  ")
    for note in found.notes:
        terminal.line(note)
    _write_placements(terminal, found.placements)


# ---- output


def _write_placements(terminal: Terminal, placements: Sequence[PodPlacement]) -> None:
    placed = [one for one in placements if one.node]
    if placed:
        terminal.line()
        rows = [(one.pod, one.node, f"evicts {some(one.evicts, 3)}" if one.evicts else "") for one in placed]
        terminal.table([("POD", "NODE", ""), *rows[:_LISTED]])
        if len(rows) > _LISTED:
            terminal.line(f"and {count(len(rows) - _LISTED, 'more pod')}")
    for group in grouped(_unplaced(placements)):
        terminal.line()
        write_answer(terminal, group.answer, time.time(), group.others)


def _write_notes(terminal: Terminal, cluster: ReadCluster) -> None:
    terminal.line()
    config = f", configuration: {cluster.config_source}" if cluster.config_source else ""
    terminal.line(f"Release {cluster.release.name}: {cluster.release_source}{config}", indent="  ")
    for note in (*sentences(cluster.refused), *cluster.notes):
        terminal.line(note, "Note: ", "  ", colour="yellow")


def _print_json(out: IO[str], cluster: ReadCluster, found: dict[str, Any], code: int) -> int:
    head = {
        "release": cluster.release.name,
        "releaseSource": cluster.release_source,
        "configurationSource": cluster.config_source,
        "refused": sorted(cluster.refused),
        "notes": [*sentences(cluster.refused), *cluster.notes],
    }
    return print_json(out, {**found, **head}, code)


def print_json(out: IO[str], found: dict[str, Any], code: int) -> int:
    """Write a value as indented JSON, and return the code."""
    print(escaped_json(msgspec.json.format(msgspec.json.encode(found), indent=2).decode()), file=out)
    return code


# ---- shadow


async def run_shadow(args: argparse.Namespace, out: IO[str]) -> int:
    """Check the decisions that the scheduler of the cluster makes meanwhile."""
    # The other subcommands need no HTTP client, which takes 0.15 s to import.
    from scheduler_core.live.aiohttp_transport import AiohttpTransport
    from scheduler_core.live.kubectl_proxy import KubectlProxy

    if not 0 < args.seconds <= MAX_SECONDS:
        args.parser.error(f"--seconds must be above 0 and at most {MAX_SECONDS:,}")
    given = [flag for flag in (*_FLAGS, "as-group") if getattr(args, f"kubectl_{flag}")]
    if other := [flag for flag in given if flag not in ("context", "kubeconfig")]:
        args.parser.error(f"--{other[0]} is not supported by shadow")
    kubectl = KubectlTransport(kubectl_flags(args))
    proxy = KubectlProxy(args.kubectl_context or await kubectl.context(), args.kubectl_kubeconfig, kubectl.kubectl)
    transport = AiohttpTransport(proxy.connect, "kubectl-kubesched", proxy.close)
    terminal, notes = Terminal(out), Terminal(sys.stderr)

    def begin(found: Discovered, forgotten: list[str]) -> None:
        notes.line(f"Release {found.release}. Following the cluster for {args.seconds:g} s.")
        for note in (*sentences(forgotten), *found.notes):
            notes.line(note, "Note: ", "  ", colour="yellow")

    shadow = LiveShadow(transport, args.release, read_bytes(args.config) if args.config else None, begin)
    explained = True
    try:
        async for judgement in shadow.judgements(args.seconds):
            explained = explained and judgement.explained
            if args.output:
                print(msgspec.json.encode(judgement).decode(), file=out, flush=True)
            elif args.verbose or not judgement.explained:
                _write_judgement(terminal, judgement)
    finally:
        await transport.close()
    assert shadow.judge is not None
    found = shadow.judge.summary()
    if args.output:
        print(msgspec.json.encode(found).decode(), file=out)
    else:
        write_summary(terminal, found)
    return PLACED if explained else EXIT_UNEXPLAINED


def _write_judgement(terminal: Terminal, judgement: Judgement) -> None:
    colour = "green" if judgement.explained else "red"
    where = f"placed on {judgement.node}" if judgement.node else f"rejected: {judgement.message}"
    terminal.line(f" {judgement.pod} was {where}", judgement.outcome, "  ", colour, bold=True)
    if not judgement.explained:
        terminal.line(f"  KubeSched: {some(judgement.ours, 3)}", indent="    ")


def write_summary(terminal: Terminal, found: dict[str, Any]) -> None:
    """Write the outcomes of bindings and those of messages. `found`: the summary of a Judge."""
    bindings, messages = found["decisions"], found["messages"]
    same = messages - found["message_classes"].get(DIFFERS, 0) - found["message_classes"].get(GAP, 0)
    for text, classes in (
        (f"{found['explained']:,} of {count(bindings, 'binding')} explained", found["classes"]),
        (f"{same:,} of {count(messages, 'message')} equal", found["message_classes"]),
    ):
        terminal.line("", f"{text}{':' if classes else '.'}", bold=True)
        for outcome, number in classes.items():
            terminal.line(f"  {outcome}: {number:,}")
    if found["decisions"]:
        terminal.line(f"The decisions are those of the configuration {found['judged_by']}.", indent="  ")


if __name__ == "__main__":
    sys.exit(main())
