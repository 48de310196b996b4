"""Search compared with a plain evaluation of traces, for every variable and function; hostile expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pytest

from scheduler_core.api.objects import Pod
from scheduler_core.errors import InputError
from scheduler_core.recording.cycle_index import Facts
from scheduler_core.search.search import FUNCTIONS, VARIABLES, CycleSearch, WrongExpression
from tests.conformance import golden_cases
from tests.examples import selection
from tests.scheduler_core.recording.core_states import Raw, WatchedRun, simulation_of_case
from tests.scheduler_core.recording.recorded_runs import RecordedRun, watched_once, watched_time
from tests.scheduler_core.virtual_time.test_engine_properties import a_run

pytestmark = pytest.mark.slow

KINDS = ("preemption", "mixed", "gates", "taints", "affinity", "sampling", "volumes", "resources", "spread")


@dataclass
class Run:
    """A recorded run with all data for a plain evaluation."""

    name: str
    kept: RecordedRun
    watched: WatchedRun
    outcomes: list[Raw]

    @cached_property
    def cycles(self) -> list[PlainCycle]:
        return [PlainCycle(self, i) for i in range(len(self.watched.pods))]

    @property
    def search(self) -> CycleSearch:
        return CycleSearch(self.kept.recording, self.kept.facts)

    def find(self, where: str, **how: Any) -> Raw:
        return self.search.find(where, **{"limit": 10_000} | how)


def run_of(case: Raw) -> Run:
    kept, watched = watched_once(simulation_of_case(case))
    outcomes = [{"result": trace.result, "message": trace.message or trace.error} for trace in watched.traces]
    return Run(case["name"], kept, watched, outcomes)


def run_in_time(seed: int) -> Run:
    kept, watched = watched_time(a_run(seed))
    outcomes = [{"message": ""} | record.data for record in watched.records if record.trace is not None]
    return Run(f"time-{seed}", kept, watched, outcomes)


@cache
def runs() -> list[Run]:
    cases = [case for kind in KINDS for case in golden_cases("v1.34", kind)[:4]]
    found = [run_of(case) for case in (*cases, *golden_cases("v1.27", "affinity", "preemption")[:8])]
    return found + [run_in_time(seed) for seed in (1, 2, 3, 5, 8)]


class PlainCycle:
    """A cycle without its recording: the values of the variables of an expression."""

    def __init__(self, run: Run, i: int) -> None:
        trace, tried_pod = run.watched.traces[i], run.watched.pods[i]
        names = run.watched.orders[i]
        golden = trace.golden(names)
        self.trace, self.names = trace, names
        self.pod, self.namespace, self.name = trace.pod, *trace.pod.split("/")
        self.labels = tried_pod.metadata.labels
        self.owner = next((f"{o.kind} {o.name}" for o in tried_pod.metadata.owner_references if o.controller), "")
        self.priority, self.scheduler = tried_pod.spec.priority or 0, tried_pod.spec.scheduler_name
        self.requests = requests_of(tried_pod)
        self.gated = bool(tried_pod.spec.scheduling_gates)
        self.attempt, self.cycle, self.t = trace.attempt, i + 1, round(run.watched.times[i], 6)
        self.result, self.message = run.outcomes[i]["result"], run.outcomes[i]["message"]
        self.node = trace.node if self.result in ("scheduled", "waiting") else ""
        self.nominated, self.victims = trace.nominated_node, trace.victims
        self.nodes, self.feasible = len(names), len(golden["feasible"])
        whole = trace.preenqueue or trace.prefilter or (trace.error and not trace.verdicts)
        self.looked = 0 if whole else sum(trace.has_looked(row) for row in range(len(names)))
        self.duration_ms = sum(trace.durations.values()) / 1e6
        totals = sorted(golden.get("total", {}).values(), reverse=True)
        scored = len(totals) > 1 and trace.node
        self.score = golden["total"][trace.node] if scored else None
        self.tied = totals.count(self.score) if scored else int(bool(trace.node))
        self.margin = totals[0] - totals[1] if scored else None
        self.refusals, self.reasons = self._refused()

    def _refused(self) -> tuple[dict[str, int], list[str]]:
        """Return the decisive status of each node."""
        found: dict[str, int] = {}
        reasons: list[str] = []
        if self.trace.preenqueue is not None:
            return {self.trace.preenqueue.plugin: 0}, list(self.trace.preenqueue.reasons)
        for row in range(len(self.names)):
            status = self.trace.status_at(row)
            if status is None:
                continue
            reasons += status.reasons
            match = re.fullmatch(r"node\(s\) didn't satisfy plugin\(s\) \[(.*)\]", status.message)
            for plugin in match[1].split() if match and not status.plugin else [status.plugin]:
                found[plugin] = found.get(plugin, 0) + 1
        for status in (self.trace.reserve, self.trace.permit):
            if status is not None and status.rejected:
                found[status.plugin] = found.get(status.plugin, 0) + 1
                reasons += status.reasons
        return found, reasons

    def refused_by(self, plugin: str) -> bool:
        return plugin in self.refusals

    def refused_on(self, name: str) -> bool:
        if name not in self.names or self.trace.preenqueue is not None:
            return False
        denied = any(s is not None and s.rejected for s in (self.trace.reserve, self.trace.permit))
        return self.trace.status_at(self.names.index(name)) is not None or (denied and name == self.trace.node)

    def reason(self, text: str) -> bool:
        return any(text in reason for reason in self.reasons)


Query = Callable[[Any], bool]
EXPRESSIONS: dict[str, Query] = {
    'result == "unschedulable" && refused_by("NodeAffinity")': lambda c: (
        c.result == "unschedulable" and c.refused_by("NodeAffinity")
    ),
    'node.startsWith("n") && score < 480': lambda c: c.node.startswith("n") and c.score is not None and c.score < 480,
    "margin == 0": lambda c: c.margin == 0,
    "margin > 2": lambda c: c.margin is not None and c.margin > 2,
    "score == null": lambda c: c.score is None,
    "score >= 150": lambda c: c.score is not None and c.score >= 150,
    "tied > 1": lambda c: c.tied > 1,
    "tied == 1": lambda c: c.tied == 1,
    "victims.size() > 0 && nominated != ''": lambda c: bool(c.victims) and c.nominated != "",
    "'default/v' in victims || victims.exists(v, v.contains('1'))": lambda c: (
        "default/v" in c.victims or any("1" in v for v in c.victims)
    ),
    "feasible < nodes && feasible > 0": lambda c: 0 < c.feasible < c.nodes,
    "looked < nodes": lambda c: c.looked < c.nodes,
    "looked == 0": lambda c: c.looked == 0,
    "feasible == 1": lambda c: c.feasible == 1,
    "refusals.exists(p, refusals[p] > 2)": lambda c: any(count > 2 for count in c.refusals.values()),
    "refusals.size() >= 2": lambda c: len(c.refusals) >= 2,
    "'TaintToleration' in refusals && refusals['TaintToleration'] == 1": lambda c: (
        c.refusals.get("TaintToleration") == 1
    ),
    'refused_by("SchedulingGates") || gated': lambda c: c.refused_by("SchedulingGates") or c.gated,
    'refused_by("VolumeBinding") || refused_by("NodeResourcesFit")': lambda c: (
        c.refused_by("VolumeBinding") or c.refused_by("NodeResourcesFit")
    ),
    'reason("Insufficient cpu")': lambda c: c.reason("Insufficient cpu"),
    'reason("didn\'t match") || reason("taint")': lambda c: c.reason("didn't match") or c.reason("taint"),
    "reason('')": lambda c: bool(c.reasons),
    "message.contains('preemption') && !message.matches('^0/[1-5] ')": lambda c: (
        "preemption" in c.message and not re.search("^0/[1-5] ", c.message)
    ),
    "pod == namespace + '/' + name": lambda c: True,
    "name.endsWith('1')": lambda c: c.name.endswith("1"),
    "namespace != 'default'": lambda c: c.namespace != "default",
    "labels.app == 'x' || labels[?'app'].orValue('') == 'a'": lambda c: c.labels.get("app") in ("x", "a"),
    "has(labels.app)": lambda c: "app" in c.labels,
    "labels.exists(k, labels[k] == 'web')": lambda c: "web" in c.labels.values(),
    "owner == '' || owner.startsWith('ReplicaSet ')": lambda c: c.owner == "" or c.owner.startswith("ReplicaSet "),
    "owner != ''": lambda c: c.owner != "",
    "priority > 0": lambda c: c.priority > 0,
    "scheduler == 'default-scheduler'": lambda c: c.scheduler == "default-scheduler",
    "attempt > 1": lambda c: c.attempt > 1,
    "cycle % 2 == 0": lambda c: c.cycle % 2 == 0,
    "t > 50 && t < 120.5": lambda c: 50 < c.t < 120.5,
    "t == 0": lambda c: c.t == 0,
    "duration_ms >= 0 && duration_ms < 60000": lambda c: 0 <= c.duration_ms < 60_000,
    "'cpu' in requests && requests['cpu'] >= 500": lambda c: c.requests.get("cpu", -1) >= 500,
    "requests.cpu > requests.memory || requests.cpu >= 1000": lambda c: c.requests.get("cpu", -1) >= 1000,
}  # fmt: skip


def requests_of(tried_pod: Pod) -> dict[str, int] | None:
    """Return the requests of pods with plain containers. Another test covers sidecars and overhead."""
    if tried_pod.spec.init_containers or tried_pod.spec.overhead or tried_pod.spec.resources is not None:
        return None
    found: dict[str, int] = {}
    for container in tried_pod.spec.containers:
        for name, amount in container.resources.requests.items():
            text = str(amount)
            scale = {"m": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 1000, "M": 10**6, "G": 10**9}
            unit = next((u for u in scale if text.endswith(u)), "")
            number = float(text.removesuffix(unit)) * (scale.get(unit, 1) if unit != "m" else 1e-3)
            found[name] = found.get(name, 0) + round(number * (1000 if name == "cpu" else 1))
    return found


@pytest.mark.parametrize("where", selection(EXPRESSIONS, 4))
def test_search_agrees_with_a_plain_evaluation(where: str) -> None:
    ticks_of, some = EXPRESSIONS[where], 0
    for run in runs():
        left_out = {cycle.cycle for cycle in run.cycles if "requests" in where and cycle.requests is None}
        expected = [cycle.cycle for cycle in run.cycles if cycle.cycle not in left_out and ticks_of(cycle)]
        found = [number for number in numbers(run.find(where)) if number not in left_out]
        assert found == expected, run.name
        some += len(expected)
    if where not in ("namespace != 'default'", "owner != ''", "labels.exists(k, labels[k] == 'web')"):
        assert some, "the runs have nothing of it: the expression proves nothing"


def test_every_variable_and_function_is_tested() -> None:
    words = set(re.findall(r"\w+", " ".join(EXPRESSIONS)))
    assert {*VARIABLES, *FUNCTIONS} - words == {"refused_on"}  # which the next test tries on every node


def test_refused_on_is_exact_for_every_node() -> None:
    refused = fit = 0
    for run in runs():
        cycles = run.cycles
        search = run.search
        for name in [*dict.fromkeys(name for cycle in cycles for name in cycle.names), "nowhere"]:
            expected = [cycle.cycle for cycle in cycles if cycle.refused_on(name)]
            found = search.find(f"refused_on('{name}')", limit=10_000)
            assert [match["cycle"] for match in found["matches"]] == expected, f"{run.name}, {name}"
            refused, fit = refused + len(expected), fit + len(cycles) - len(expected)
        picked = [cycle.cycle for cycle in cycles if cycle.refused_on(cycle.nominated)]
        assert [m["cycle"] for m in search.find("refused_on(nominated)", limit=10_000)["matches"]] == picked
    assert refused > 1000
    assert fit > 1000


@cache
def preempting() -> Run:
    return next(run for run in runs() if run.name.startswith("preemption") and len(run.cycles) > 5)


def numbers(answer: Raw) -> list[int]:
    return [match["cycle"] for match in answer["matches"]]


def test_pages_of_matches_continue_in_both_directions() -> None:
    run = preempting()
    every = numbers(run.find("cycle > 0"))
    assert every == list(range(1, len(run.cycles) + 1))
    for direction, wanted in (("next", every), ("all", every), ("previous", every[::-1])):
        found, start = [], None
        while True:
            answer = run.find("cycle > 0", start=start, direction=direction, limit=2)
            assert answer["total"] == len(every)
            found += numbers(answer)
            start = answer["next_from"]
            if start is None:
                break
        assert found == wanted
    assert numbers(run.find("cycle % 2 == 0", start=3, direction="next", limit=1)) == [4]
    assert numbers(run.find("cycle % 2 == 0", start=4, direction="next", limit=1)) == [4]
    assert numbers(run.find("cycle % 2 == 0", start=3, direction="previous", limit=1)) == [2]


def test_a_match_names_attempt_pod_and_time() -> None:
    run = runs()[-1]
    for match in run.find("attempt > 1")["matches"]:
        trace = run.watched.traces[match["cycle"] - 1]
        expected = {"pod": trace.pod, "attempt": trace.attempt, "t": round(trace.time, 6)}
        assert match == {"cycle": match["cycle"], **expected}


def test_an_expression_without_a_value_is_no_match_and_is_reported_if_nothing_matches() -> None:
    run = preempting()
    answer = run.find("labels.nosuchlabel == 'x'")
    assert (answer["total"], answer["matches"]) == (0, [])
    assert re.match(r"It has no value in [\d,]+ of [\d,]+ cycles \(cycle 1: .*nosuchlabel", answer["note"])
    assert run.find("labels.nosuchlabel == 'x' || cycle == 1")["note"] == ""


@pytest.mark.parametrize(
    ("where", "line", "column", "says"),
    [
        ("pod == 3", 1, 5, "no matching overload"),
        ("pod == 'x' &&\n  cycle == 'x'", 2, 9, "no matching overload"),
        ("result == 'a' &&", 1, 17, "it ends too early"),
        ("pod = 'x'", 1, 5, "use '=='"),
        ("foo == 3", 1, 1, "undeclared reference to 'foo'; there are pod, name, namespace"),
        ("namespace == 3", 1, 11, "no matching overload"),
        ("refused_by(3)", 1, 11, "no matching overload"),
        ("refused_by('a', 'b')", 1, 11, "undeclared reference to 'refused_by'"),
        ("pod", 1, 1, "must be true or false"),
        ("refusals == {'a': 'b'}", 1, 10, "no matching overload"),
        ("pod == '\\ud800'", 1, 8, "Invalid string literal"),
        ("system('rm')", 1, 7, "undeclared reference to 'system'"),
        ("pod.__class__ == ''", 1, 4, "cannot be the operand of a select"),
        ("'namespace' == 3", 1, 13, "no matching overload"),
        ("", 0, 0, "is empty"),
        (" \n ", 0, 0, "is empty"),
        ("true || " * 250 + "true", 0, 0, "is longer than"),
        ("(" * 500 + "true" + ")" * 500, 0, 0, "nested too deeply"),
        ("[" * 500 + "]" * 500 + " == []", 0, 0, "nested too deeply"),
        ("+".join(["1"] * 900) + " > 0", 0, 0, "nested too deeply"),
        ("{'a':" * 100 + "1" + "}" * 100 + " == {}", 0, 0, "nested too deeply"),
    ],
)
def test_an_invalid_expression_is_rejected_with_its_position(where: str, line: int, column: int, says: str) -> None:
    with pytest.raises(WrongExpression) as wrong:
        preempting().find(where)
    assert says in wrong.value.problem
    assert (wrong.value.line, wrong.value.column) == (line, column)
    assert "namespac_" not in str(wrong.value)


@pytest.mark.parametrize(
    ("where", "finds"),
    [
        ("namespace in ['prod', 'default'] // namespace", True),
        ('namespace != """namespace""" && namespace != r"namespace"', True),
        ("labels[?'namespace'].orValue('namespace') == 'namespace'", True),
        ("has(labels.namespace)", False),
        ("[namespace].exists(n, n == namespace)", True),
        ("'it\\'s' == \"it's\" && namespace == namespace", True),
    ],
)
def test_namespace_is_a_variable_though_the_language_reserves_the_word(where: str, finds: bool) -> None:
    assert bool(preempting().find(where)["total"]) == finds


ALL_OF_TEN = "[0,1,2,3,4,5,6,7,8,9].all({0},"


def test_an_endless_expression_is_stopped() -> None:
    nested = "".join(ALL_OF_TEN.format(name) for name in "abcde") + "true" + ")" * 5
    with pytest.raises(WrongExpression, match="too many elements"):
        preempting().find(nested)
    ticks_of: list[int] = []

    def expired() -> bool:
        ticks_of.append(1)
        return len(ticks_of) > 1

    many = Facts([])
    many.table = LongTable(preempting().kept.facts.table)  # type: ignore[assignment]
    with pytest.raises(WrongExpression, match="took too long"):
        CycleSearch(preempting().kept.recording, many, expired).find("true")


class LongTable:
    """A table of many equal rows."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return 100_000_000

    def __getitem__(self, name: str) -> Any:
        return self.table[name]


@pytest.mark.parametrize(("direction", "limit"), [("sideways", 1), ("next", 0), ("next", 10_001)])
def test_an_invalid_query_is_rejected(direction: str, limit: int) -> None:
    with pytest.raises(InputError):
        preempting().find("true", direction=direction, limit=limit)
