"""Search of a run's cycles with an expression in CEL, the expression language of Kubernetes.

CEL is typed, has no unbounded loops and limits nesting and iterations. An expression can still use too much memory or
time. This module checks the time limit only between cycles, so run untrusted expressions in a process that can be
terminated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from scheduler_core.errors import InputError
from scheduler_core.recording.cluster_state import NodeOrder
from scheduler_core.recording.cycle_index import Facts
from scheduler_core.recording.recording import Recording

MAX_LENGTH = 2000  # characters of an expression
MAX_LIMIT = 10_000
DIRECTIONS = ("next", "previous", "all")
CHECK_EVERY = 64  # cycles between two checks of the time limit

# Name -> its CEL type. `dyn`: the value may be null, or is compared with integers and fractions.
VARIABLES = {
    "pod": "string",
    "name": "string",
    "namespace": "string",
    "labels": "map<string, string>",
    "owner": "string",
    "priority": "int",
    "scheduler": "string",
    "gated": "bool",
    "requests": "map<string, int>",
    "attempt": "int",
    "cycle": "int",
    "t": "dyn",
    "result": "string",
    "node": "string",
    "nominated": "string",
    "message": "string",
    "feasible": "int",
    "nodes": "int",
    "looked": "int",
    "score": "dyn",
    "margin": "dyn",
    "tied": "int",
    "duration_ms": "dyn",
    "victims": "list<string>",
    "refusals": "map<string, int>",
}
FUNCTIONS = ("refused_by", "refused_on", "reason")

# `namespace` is a reserved word in CEL; here it is a variable. The stand-in has the same length to keep error columns.
_RESERVED, _STAND_IN = "namespace", "namespac_"
_TOKENS = re.compile(
    r"""//[^\n]*                                                     # a comment
    |   [bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"]*"|'[^']*')    # raw text
    |   (?P<quote>\"{3}|'{3}|"|')(?:\\.|(?!(?P=quote)).)*(?P=quote)   # text
    |   (?<!\w)namespace(?!\w)""",
    re.S | re.X,
)
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_DEEP = "recursion"
_BUDGET = "Iteration budget"


class WrongExpression(InputError):
    """An unusable expression. `line` and `column` are the place of the error, from 1; 0 for the whole expression."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__("where", f"line {line}, column {column}" if line else "", problem)
        self.line, self.column = line, column


def check(where: str) -> None:
    """Raise WrongExpression if this is not a valid expression over a cycle, independent of the run."""
    _compile(where, dict.fromkeys(FUNCTIONS, lambda _: False))


class CycleSearch:
    """Searches the cycles of a run. `expired` is called regularly and returns whether the time limit is reached."""

    def __init__(self, recording: Recording, facts: Facts, expired: Callable[[], bool] = lambda: False) -> None:
        self.recording, self.facts, self.expired = recording, facts, expired
        self._cycle = 0  # index of the current cycle
        self._order = NodeOrder(recording)
        self._moment = 0
        self._row_of: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._refusals: list[Mapping[str, int]] = []
        self._reasons: list[Mapping[str, int]] = []

    def find(self, where: str, start: int | None = None, direction: str = "all", limit: int = 100) -> dict[str, Any]:
        """Return the matching cycles: {matches: [{cycle, pod, attempt, t}], total, next_from, note}.

        The search begins at cycle `start` (inclusive) and goes backwards for `previous`. It returns at most `limit`
        matches. `total` counts all matching cycles of the run. `next_from` is the `start` that continues, None at the
        end. If nothing matches, `note` describes cycles in which the expression has no value. Raises WrongExpression,
        or InputError for an invalid direction or limit.
        """
        if direction not in DIRECTIONS:
            raise InputError("direction", "", f"must be one of {', '.join(DIRECTIONS)}, got {direction!r}")
        if not 1 <= limit <= MAX_LIMIT:
            raise InputError("limit", "", f"must be in 1..{MAX_LIMIT}, got {limit}")
        found, note = self._evaluate(where)
        chosen = list(reversed(found)) if direction == "previous" else found
        if start is not None:
            back = direction == "previous"
            chosen = [number for number in chosen if (number <= start if back else number >= start)]
        left = chosen[limit:]
        return {
            "matches": [self._match(number) for number in chosen[:limit]],
            "total": len(found),
            "next_from": left[0] if left else None,
            "note": note if not found else "",
        }

    def _match(self, number: int) -> dict[str, Any]:
        table, row = self.facts.table, number - 1
        pod = self.recording.tables["pods"].at("key", int(table["pod"][row]))
        return {"cycle": number, "pod": pod, "attempt": int(table["attempt"][row]), "t": float(table["t"][row])}

    def _evaluate(self, where: str) -> tuple[list[int], str]:
        made = {"refused_by": self._refused_by, "refused_on": self._refused_on, "reason": self._reason}
        program = _compile(where, made)
        words = set(re.findall(r"[a-z_]+", where))
        columns = {_inside(name): self._column(name) for name in VARIABLES if name in words}
        self._refusals = self.facts.table.all("refusals") if "refused_by" in words else []
        self._reasons = self.facts.table.all("reasons") if "reason" in words else []
        self._names = {name: i for i, name in enumerate(self.recording.names)} if "refused_on" in words else {}
        found: list[int] = []
        without, sample = 0, ""
        for i in range(len(self.facts)):
            if i % CHECK_EVERY == 0 and self.expired():
                raise WrongExpression("took too long; make it simpler")
            self._cycle = i
            try:
                answer = program.eval(data={name: column[i] for name, column in columns.items()})
                value = answer.plain_value()
            except RuntimeError as problem:
                raise _wrong(str(problem)) from None
            if value is True:
                found.append(i + 1)
            elif value is not False:
                without += 1
                sample = sample or f"cycle {i + 1}: {_without_codes(str(value))}"
        return found, f"It has no value in {without:,} of {len(self.facts):,} cycles ({sample})" if without else ""

    def _column(self, name: str) -> list[Any]:
        """Return the values of a variable, one per cycle."""
        table, pods = self.facts.table, self.recording.tables["pods"]
        if name in ("labels", "owner", "priority", "scheduler", "requests", "gated", "pod", "name", "namespace"):
            values = pods.all("key" if name in ("pod", "name", "namespace") else name)
            if name in ("name", "namespace"):
                values = [key.partition("/")[0 if name == "namespace" else 2] for key in values]
            if name == "gated":
                values = [bool(value) for value in values]
            return [values[row] for row in table["pod"].tolist()]
        if name == "cycle":
            return list(range(1, len(table) + 1))
        if name == "duration_ms":
            return [nanoseconds / 1e6 for nanoseconds in table["duration"].tolist()]
        if name in ("score", "margin"):
            pairs = zip(table["scored"].tolist(), table[name].tolist(), strict=True)
            return [value if scored else None for scored, value in pairs]
        return table.all(name)

    def _refused_by(self, plugin: str) -> bool:
        return plugin in self._refusals[self._cycle]

    def _reason(self, text: str) -> bool:
        return any(text in reason for reason in self._reasons[self._cycle])

    def _refused_on(self, node: str) -> bool:
        denied = bool(node) and self.facts.table.at("denied", self._cycle) == node
        return denied or self.facts.refused_at(self._cycle, self._row(node))

    def _row(self, node: str) -> int:
        """Return the row of a node in the columns of the current cycle, -1 if the node does not exist."""
        moment = int(self.facts.table["at"][self._cycle]) - 1
        if moment < self._moment:
            self._order, self._row_of = NodeOrder(self.recording), {}
        if self._order.advance(moment):
            self._row_of = {}
        self._moment = moment
        row = self._row_of.get(node)
        if row is None:
            row = self._row_of[node] = self._order.row_of(self._names.get(node, -1))
        return row


def _compile(where: str, functions: Mapping[str, Callable[[str], bool]]) -> Any:
    """Compile a CEL program. `functions` implements FUNCTIONS. Raises WrongExpression."""
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_optional

    if not where.strip():
        raise WrongExpression("is empty")
    if len(where) > MAX_LENGTH:
        raise WrongExpression(f"is longer than {MAX_LENGTH:,} characters")
    text, true = cel.Type.STRING, cel.Type.BOOL
    kinds = {
        "string": text,
        "int": cel.Type.INT,
        "bool": true,
        "dyn": cel.Type.DYN,
        "list<string>": cel.Type.List(text),
        "map<string, string>": cel.Type.Map(text, text),
        "map<string, int>": cel.Type.Map(text, cel.Type.INT),
    }
    environment = cel.NewEnv(
        variables={_inside(name): kinds[kind] for name, kind in VARIABLES.items()},
        extensions=[ext_optional.ExtOptional()],
        functions=[
            cel.FunctionDecl(name, [cel.Overload(f"{name}_string", true, [text], False, impl)])
            for name, impl in functions.items()
        ],
    )
    try:
        program = environment.compile(_with_stand_in(where))
    except (RuntimeError, ValueError) as problem:
        raise _wrong(str(problem)) from None
    kind = program.return_type()
    if kind not in (true, cel.Type.DYN):
        raise WrongExpression(f"must be true or false; this is of type {kind.name()}", 1, 1)
    return program


def _inside(name: str) -> str:
    return _STAND_IN if name == _RESERVED else name


def _with_stand_in(where: str) -> str:
    """Replace the reserved word where it is a variable: not in string literals or comments, and not after a dot."""

    def replaced(match: re.Match[str]) -> str:
        is_name = match[0] == _RESERVED and not where[: match.start()].rstrip().endswith(".")
        return _STAND_IN if is_name else match[0]

    return _TOKENS.sub(replaced, where)


def _wrong(message: str) -> WrongExpression:
    """Convert an error of CEL to a readable one with its position."""
    message = message.replace(_STAND_IN, _RESERVED)
    if _DEEP in message:
        return WrongExpression("is nested too deeply (the limit is 32 levels)")
    if _BUDGET in message:
        return WrongExpression("iterates over too many elements")
    match = _ERROR.search(message)
    if match is None:
        return WrongExpression(_without_codes(message))
    problem = match[3].removeprefix("Syntax error: ").replace(" (in container '')", "")
    problem = problem.partition(" expecting ")[0].replace("mismatched input '<EOF>'", "it ends too early")[:300]
    problem = problem.replace("token recognition error at: '= '", "'=' is not an operator; use '=='")
    if problem.startswith("undeclared reference"):
        problem += f"; there are {', '.join(VARIABLES)}, and the functions {', '.join(FUNCTIONS)}"
    return WrongExpression(problem, int(match[1]), int(match[2]))


def _without_codes(text: str) -> str:
    """Return CEL's message without its codes."""
    return re.sub(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$", "", text.strip().split("\n")[0])[:300]
