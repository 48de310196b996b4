"""The tools: each runs a command of KubeSched and returns its answer."""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scheduler_core.errors import InputError
from scheduler_core.mcp_server.bounded import bounded_answer
from scheduler_core.mcp_server.processes import CommandOutput, run_command

SECONDS = 300.0
AT_ONCE = 2  # commands
MOST_FILES = 500
_PLUGIN = (sys.executable, "-m", "scheduler_core.commands.kubectl.plugin")
_SUFFIXES = (".json", ".yaml", ".yml", ".gz", ".zip", ".tar", ".tgz", ".db")
_BAD_INPUT = (2, 64, 66, 69)  # exit codes for which standard error says what is wrong


class Tools:
    """What an assistant may ask. Each public coroutine is a tool, and its docstring is what the assistant reads.

    `command`: the start of the command line of KubeSched. `folder`: only its files can be read. `context`: that of the
    kubeconfig whose cluster may be read, "" for its current one; None if no cluster may be read.
    """

    def __init__(self, command: Sequence[str], folder: Path, context: str | None = None) -> None:
        self._command = tuple(command)
        self._folder = folder.resolve()
        self._context = context
        self._slots = asyncio.Semaphore(AT_ONCE)

    # ---- files

    async def list_files(self) -> str:
        """List the files that the other tools can read: snapshots of clusters and scenarios."""
        found = sorted(path for path in self._folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
        inside = [path for path in found[:MOST_FILES] if path.resolve().is_relative_to(self._folder)]
        rows = [{"file": str(path.relative_to(self._folder)), "bytes": path.stat().st_size} for path in inside]
        return bounded_answer({"files": rows, "more_files": max(0, len(found) - MOST_FILES)})

    async def pending_pods(self, file: str) -> str:
        """Say which pods of a snapshot are pending and why, grouped by reason, the largest group first. Start here."""
        done = await self._run("explain", "--json", "--", self._path(file))
        groups: dict[str, list[str]] = {}
        placed = 0
        for answer in _lines(done):
            if answer.get("result") == "scheduled":
                placed += 1
                continue
            name = answer.get("pod") or str(answer.get("workload"))
            groups.setdefault(str(answer.get("sentence")), []).append(name)
        largest_first = sorted(groups.items(), key=lambda group: -len(group[1]))
        rows = [{"pods": len(pods), "such_as": pods[:5], "why": sentence} for sentence, pods in largest_first]
        return _answer({"pending": rows, "pods_that_would_be_placed": placed}, done)

    async def why(self, file: str, pod: str) -> str:
        """Explain one pod: why it is pending or where it would be placed, the nodes closest to taking it and what they
        lack, and fixes with kubectl commands, each verified by a run. `pod`: as namespace/name."""
        done = await self._run("explain", "--json", f"--pod={pod}", "--", self._path(file))
        return _answer(list(_lines(done)), done)

    async def why_not_on(self, file: str, pod: str, node: str) -> str:
        """Say why a pod is not on a certain node, and which changes make the pod go there. `pod`: as namespace/name."""
        done = await self._run("remedies", f"--pod={pod}", f"--node={node}", "--", self._path(file))
        return _answer(done.output.splitlines(), done)

    async def fixes(self, file: str, pod: str) -> str:
        """List the changes that place a pending pod and its workload, the best first, with kubectl commands. Each was
        verified by a run. `pod`: as namespace/name."""
        done = await self._run("remedies", "--json", f"--pod={pod}", "--", self._path(file))
        return _answer(json.loads(done.output), done)

    async def what_if(self, file: str, changes: list[dict[str, Any]]) -> str:
        """Compare the decisions of the scheduler with those after some changes of the cluster.

        `changes`: such as {"cordon": "node-1"}, {"uncordon": "node-1"}, {"drain": "node-1"}, {"create": OBJECT},
        {"delete": {"kind": "Pod", "namespace": "ns", "name": "web"}}, {"patch": {"kind": "Pod", "namespace": "ns",
        "name": "web", "patch": MERGE_PATCH}} or {"untaint": {"node": "node-1", "key": "dedicated"}}.
        """
        arguments = [f"--change={json.dumps(change)}" for change in changes]
        done = await self._run("fork", "--json", "--at=1", *arguments, "--", self._path(file))
        found = json.loads(done.output)
        if isinstance(found, dict):
            found["pods"] = [pod for pod in found.get("pods", ()) if pod.get("change") != "same"]
            found = {
                key: found[key] for key in ("sentence", "summary", "objects", "divergence", "pods") if key in found
            }
        return _answer(found, done)

    async def compare_releases(self, file: str, first: str, last: str) -> str:
        """Say which pods another Kubernetes release would place otherwise, and which change of the release causes that.
        `first`, `last`: such as 1.31 and 1.36."""
        done = await self._run("upgrade", "--json", f"--from={first}", f"--to={last}", "--", self._path(file))
        steps = list(_lines(done))
        for step in steps:
            step["units"] = [unit for unit in step.get("units", ()) if unit.get("pods") or unit.get("words")]
        return _answer(steps, done)

    async def explain_message(self, text: str) -> str:
        """Translate a message of FailedScheduling, also within the output of `kubectl describe pod` or `kubectl get
        events`, without its cluster: what each reason means, its plugin, and what to ask kubectl next."""
        done = await self._run("why-message", "--json", "--file=-", given=text.encode(errors="replace"))
        return _answer(list(_lines(done)), done)

    # ---- a cluster

    async def why_in_cluster(self, pod: str = "", namespace: str = "") -> str:
        """Say why a pod of the running cluster is pending; without a pod, why all pending pods are. Only reads.
        `pod`: a name, or a workload as deployment/name."""
        where = [f"--namespace={namespace}"] if namespace else []
        done = await self._run_kubectl("why", *where, "--output=json", *(["--", pod] if pod else ["-A"]))
        return _answer(json.loads(done.output), done)

    async def drain_in_cluster(self, node: str) -> str:
        """Say where the pods of a node of the running cluster would be placed if it were drained. Only reads."""
        done = await self._run_kubectl("drain", "--output=json", "--", node)
        return _answer(json.loads(done.output), done)

    def names(self) -> list[str]:
        """Return the names of the tools."""
        of_cluster = {"why_in_cluster", "drain_in_cluster"} if self._context is None else set()
        return [
            name
            for name, member in vars(Tools).items()
            if asyncio.iscoroutinefunction(member) and not name.startswith("_") and name not in of_cluster
        ]

    def _path(self, file: str) -> str:
        """Return the path of a file of the folder. Raises InputError."""
        try:
            path = (self._folder / file).resolve()
            if path.is_relative_to(self._folder) and path.is_file():
                return str(path)
        except (OSError, ValueError):
            pass
        raise InputError("file", "", f"{file[:200]!r} is no file of the folder; list_files names them")

    async def _run(self, *arguments: str, given: bytes = b"") -> CommandOutput:
        async with self._slots:
            return _checked(await run_command([*self._command, *arguments], SECONDS, given), arguments[0])

    async def _run_kubectl(self, *arguments: str) -> CommandOutput:
        name, *rest = arguments
        context = [f"--context={self._context}"] if self._context else []
        async with self._slots:
            return _checked(await run_command([*_PLUGIN, name, *context, *rest], SECONDS), name)


def _checked(done: CommandOutput, name: str) -> CommandOutput:
    """Return a command that has answered. Raises InputError with what it said."""
    if done.code in _BAD_INPUT:
        problem = done.remarks.strip().splitlines()[-1] if done.remarks.strip() else "failed"
        for start in ("error: ", f"{name}: "):
            problem = problem.rpartition(start)[2] if start in problem else problem
        raise InputError("", "", problem[:2000])
    if done.code < 0 or not done.output.strip() or "Traceback (most recent call last)" in done.remarks:
        raise InputError(
            "", "", f"{name} ended with code {done.code} and without an answer; this is an error of KubeSched"
        )
    return done


def _answer(answer: Any, done: CommandOutput) -> str:
    return bounded_answer(
        answer, [line for line in done.remarks.splitlines() if line.startswith(("note:", "warning:"))]
    )


def _lines(done: CommandOutput) -> Iterator[dict[str, Any]]:
    for line in done.output.splitlines():
        yield json.loads(line)
