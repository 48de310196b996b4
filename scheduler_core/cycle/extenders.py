"""Scheduler extenders: external programs that filter, score, preempt and bind, called over HTTP.

Extenders are off unless their host is allowed: a configuration alone never causes a request. A failure of an extender
(a timeout, no connection or an invalid answer) is an event. The cycle fails unless the extender is `ignorable`; the
scores of an extender that fails are left out.

Source: pkg/scheduler/extender.go, k8s.io/kube-scheduler/extender/v1 (types.go: JSON keys are the Go names, in any
case).
"""

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import numpy as np

from scheduler_core.api.scheduler_config import Extender as Config
from scheduler_core.api.syntax import go_duration
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.framework.interface import EXTENDER, Status, Verdict, error, unresolvable, unschedulable
from scheduler_core.framework.score_columns import Score
from scheduler_core.preemption.victims import Candidate

DEFAULT_TIMEOUT_SECONDS = 5.0
MAX_RESPONSE_BYTES = 16_000_000
MAX_PRIORITY = 10  # extenders score 0..10, plugins 0..100


class ExtenderError(Exception):
    """An extender did not answer, or its answer is invalid."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Blocks redirects, which could lead to a host that is not allowed."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class HTTPExtender:
    """One extender. `config`: its part of the KubeSchedulerConfiguration. `proxy`: see Extenders."""

    def __init__(self, config: Config, proxy: str = "") -> None:
        proxies = {"http": proxy, "https": proxy} if proxy else {}
        self._opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler(proxies))
        self.config = config
        self.url = config.url_prefix.rstrip("/")
        self.timeout = (go_duration(config.http_timeout) if config.http_timeout else 0) or DEFAULT_TIMEOUT_SECONDS
        self._managed = {resource.name for resource in config.managed_resources}

    def interested(self, pod: PodInfo) -> bool:
        """Whether the extender handles the pod.

        An extender with managed resources handles only pods that request one of them.
        """
        containers = (*pod.pod.spec.containers, *pod.pod.spec.init_containers)
        return not self._managed or any(
            self._managed & {*c.resources.requests, *c.resources.limits} for c in containers
        )

    def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """POST JSON and return the decoded JSON answer. Raises ExtenderError."""
        url = f"{self.url}/{verb.lstrip('/')}"
        body = msgspec.json.encode(arguments)
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                data = response.read(MAX_RESPONSE_BYTES + 1)
        except urllib.error.HTTPError as problem:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {problem.code}") from None
        except (OSError, ValueError) as problem:  # URLError and TimeoutError are OSErrors
            reason = getattr(problem, "reason", problem)
            if isinstance(reason, TimeoutError):
                raise ExtenderError(f"{url}: no answer within {self.timeout:g} s") from None
            raise ExtenderError(f"{url}: cannot be reached: {str(reason)[:200]}") from None
        if len(data) > MAX_RESPONSE_BYTES:
            raise ExtenderError(f"{url}: the answer is larger than {MAX_RESPONSE_BYTES // 1_000_000} MB")
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ExtenderError(f"{url}: the answer is not JSON") from None


def _lower(value: Any, where: HTTPExtender) -> dict[str, Any]:
    """Return an object of the answer with keys in lower case and without nulls."""
    if not isinstance(value, dict):
        raise ExtenderError(f"{where.url}: the response has an unexpected format")
    return {str(key).lower(): item for key, item in value.items() if item is not None}


class Extenders:
    """All extenders of a configuration.

    `allowed`: the hosts (`name` or `name:port`) that may be called. `proxy`: the address of a proxy for all extenders;
    "" for none. `events`: failures, for the caller of the cycles to collect. Raises InputError if the host of an
    extender is not allowed.
    """

    def __init__(self, configs: Sequence[Config], cluster: Cluster, allowed: Collection[str], proxy: str = "") -> None:
        self.cluster = cluster
        self.events: list[str] = []
        # Ignorable extenders come last. Source: pkg/scheduler/scheduler.go (buildExtenders)
        self.all = [HTTPExtender(config, proxy) for config in sorted(configs, key=lambda config: config.ignorable)]
        for extender in self.all:
            parts = urllib.parse.urlsplit(extender.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise InputError(f"extender {extender.url[:80]!r}", "urlPrefix", "must be an http or https URL")
            if parts.hostname not in allowed and parts.netloc not in allowed:
                raise InputError(
                    f"extender {extender.url[:80]!r}", "urlPrefix", f"{parts.netloc} is not an allowed host"
                )

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def choose_nodes(self) -> bool:
        """Whether some extender filters or scores, so that one feasible node is not enough."""
        return any(extender.config.filter_verb or extender.config.prioritize_verb for extender in self.all)

    def _note(self, extender: HTTPExtender, problem: ExtenderError, then: str = "") -> None:
        message = str(problem) if extender.url in str(problem) else f"{extender.url}: {problem}"
        self.events.append(f"extender {message}{then}")

    def _failed(self, extender: HTTPExtender, problem: ExtenderError) -> str:
        """Record a failure. Return the error of the cycle, "" if the extender is ignorable."""
        self._note(extender, problem, " (ignored)" if extender.config.ignorable else "")
        return "" if extender.config.ignorable else str(problem)

    # ---- filter

    def filter(self, pod: PodInfo, trace: CycleTrace) -> bool:
        """Send the feasible nodes to the extenders. Excluded nodes get a status of the plugin `Extender` in the trace.

        Returns: whether an extender returned whole nodes instead of names.
        """
        names, rebuilt = self.cluster.nodes.names, False
        statuses: dict[int, Status] = {}
        rows = trace.feasible_rows().tolist()
        for extender in self.all:
            if not rows:
                break
            if not extender.config.filter_verb or not extender.interested(pod):
                continue
            try:
                remaining, refused, whole = self._call_filter(extender, pod, [names[row] for row in rows])
            except ExtenderError as problem:
                trace.error = self._failed(extender, problem)
                if trace.error:
                    return False
                continue
            rebuilt = rebuilt or whole
            for row in rows:
                if names[row] not in remaining:
                    statuses[row] = refused.get(names[row]) or unschedulable()
            rows = [row for row in rows if names[row] in remaining]
        if statuses:
            trace.refuse(EXTENDER, Verdict.of_statuses([statuses.get(row) for row in range(trace.nodes)]))
            for row in statuses.keys() & trace.nominated.keys():
                trace.nominated[row] = statuses[row].by(EXTENDER)
            trace.feasible = np.array(rows, np.intp)
        return rebuilt

    def _call_filter(
        self, extender: HTTPExtender, pod: PodInfo, nodes: list[str]
    ) -> tuple[set[str], dict[str, Status], bool]:
        """Return (the remaining nodes, the statuses of the others, whether the answer has whole nodes)."""
        answer = _lower(extender.call(extender.config.filter_verb, self._arguments(extender, pod, nodes)), extender)
        if answer.get("error"):
            raise ExtenderError(str(answer["error"])[:200])
        whole = not (extender.config.node_cache_capable and "nodenames" in answer)
        if not whole:
            remaining = answer["nodenames"]
        else:
            items = _lower(answer.get("nodes", {}), extender).get("items", [])
            remaining = [_lower(_lower(item, extender).get("metadata"), extender).get("name") for item in items]
        if not isinstance(remaining, list) or not all(isinstance(name, str) for name in remaining):
            raise ExtenderError(f"{extender.url}: the response has an unexpected format")
        for name in remaining:
            if name not in nodes:
                raise ExtenderError(f"{extender.url}: claims a node {name[:63]!r} that was not in the request")
        refused = {str(n): unschedulable(str(why)) for n, why in _lower_values(answer, "failednodes", extender)}
        hopeless = _lower_values(answer, "failedandunresolvablenodes", extender)
        return set(remaining), refused | {str(n): unresolvable(str(why)) for n, why in hopeless}, whole

    def _arguments(self, extender: HTTPExtender, pod: PodInfo, nodes: Sequence[str]) -> dict[str, Any]:
        """Return the ExtenderArgs: node names if the extender caches nodes, otherwise the known node objects."""
        arguments: dict[str, Any] = {"Pod": pod.pod}
        if extender.config.node_cache_capable:
            return arguments | {"NodeNames": list(nodes)}
        table = self.cluster.nodes
        return arguments | {"Nodes": {"items": [table.nodes[table.rows[name]] for name in nodes]}}

    # ---- prioritize

    def prioritize(self, pod: PodInfo, trace: CycleTrace) -> None:
        """Add each extender's scores to the trace. Scores of 0..10 are scaled to 0..100 and weighted."""
        names = self.cluster.nodes.names
        nodes = [names[row] for row in trace.feasible_rows().tolist()]
        for extender in self.all:
            if not extender.config.prioritize_verb or not extender.interested(pod):
                continue
            arguments = self._arguments(extender, pod, nodes)
            try:
                raw = self._scores(extender, extender.call(extender.config.prioritize_verb, arguments), nodes)
            except ExtenderError as problem:
                self._note(extender, problem, " (its scores are left out)")
                continue
            column = np.array(raw, np.int64)
            # priorities of 1.16 are 0..10 themselves
            scale = 1 if self.cluster.release.predicates else 100 // MAX_PRIORITY
            trace.scores[f"{EXTENDER} {extender.url}"] = Score(extender.config.weight, column, column * scale)

    @staticmethod
    def _scores(extender: HTTPExtender, answer: Any, nodes: list[str]) -> list[int]:
        if not isinstance(answer, list):
            raise ExtenderError(f"{extender.url}: the response has an unexpected format")
        scores: dict[str, int] = {}
        for item in answer:
            entry = _lower(item, extender)
            host, score = entry.get("host"), entry.get("score", 0)
            if host not in nodes:
                raise ExtenderError(f"{extender.url}: scores a node {str(host)[:63]!r} that was not in the request")
            if not isinstance(score, int) or not 0 <= score <= MAX_PRIORITY:
                problem = f"{extender.url}: scores node {host!r} {str(score)[:20]}, which is not in 0..{MAX_PRIORITY}"
                raise ExtenderError(problem)
            scores[host] = score
        return [scores.get(name, 0) for name in nodes]

    # ---- preempt

    def preempt(self, pod: PodInfo, candidates: list[Candidate]) -> tuple[list[Candidate], Status | None]:
        """Return the remaining candidates with their remaining victims, or an error status without a plugin."""
        for extender in self.all:
            if not extender.config.preempt_verb or not extender.interested(pod) or not candidates:
                continue
            try:
                candidates = self._call_preempt(extender, pod, candidates)
            except ExtenderError as problem:
                message = self._failed(extender, problem)
                if message:
                    return [], error(message)
        return candidates, None

    def _call_preempt(self, extender: HTTPExtender, pod: PodInfo, candidates: list[Candidate]) -> list[Candidate]:
        only_uids = extender.config.node_cache_capable
        victims = {
            candidate.node: {
                "Pods": [{"UID": _uid(victim)} if only_uids else victim.pod for victim in candidate.victims],
                "NumPDBViolations": candidate.pdb_violations,
            }
            for candidate in candidates
        }
        arguments = {"Pod": pod.pod, "NodeNameToMetaVictims" if only_uids else "NodeNameToVictims": victims}
        answer = _lower(extender.call(extender.config.preempt_verb, arguments), extender)
        by_node = {candidate.node: candidate for candidate in candidates}
        left = []
        for node, victims_left in _lower_values(answer, "nodenametometavictims", extender):
            if node not in by_node:
                raise ExtenderError(f"{extender.url}: claims a node {str(node)[:63]!r} that was not in the request")
            mine = {_uid(victim): victim for victim in by_node[node].victims}
            remaining = _lower(victims_left, extender)
            uids = [_lower(item, extender).get("uid") for item in remaining.get("pods", [])]
            if not set(uids) <= mine.keys():
                raise ExtenderError(f"{extender.url}: names a victim that does not run on node {node!r}")
            violations = remaining.get("numpdbviolations", 0)
            chosen = tuple(victim for uid, victim in mine.items() if uid in uids)
            if not chosen:
                if not extender.config.ignorable:
                    raise ExtenderError(f'expected at least one victim pod on node "{node}"')
                continue
            left.append(Candidate(str(node), chosen, violations if isinstance(violations, int) else 0))
        return left

    # ---- bind

    def bind(self, pod: PodInfo, node: str) -> tuple[bool, Status | None]:
        """Return (whether an extender binds this pod, its error status or None)."""
        for extender in self.all:
            if not extender.config.bind_verb or not extender.interested(pod):
                continue
            arguments = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": _uid(pod), "Node": node}
            try:
                answer = _lower(extender.call(extender.config.bind_verb, arguments), extender)
                if answer.get("error"):
                    raise ExtenderError(str(answer["error"])[:200])
            except ExtenderError as problem:
                self._note(extender, problem)
                return True, error(str(problem))
            return True, None
        return False, None


def _uid(pod: PodInfo) -> str:
    return pod.pod.metadata.uid or pod.key


def _lower_values(answer: dict[str, Any], key: str, where: HTTPExtender) -> list[tuple[str, Any]]:
    """Return the entries of a map in the answer."""
    value = answer.get(key, {})
    if not isinstance(value, dict):
        raise ExtenderError(f"{where.url}: the response has an unexpected format")
    return list(value.items())
