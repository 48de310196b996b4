"""Scenario files: a cluster and its changes in virtual time (`apiVersion: kubesched.dev/v1alpha1, kind: Scenario`).

docs/scenario.md describes the format. docs/scenario.schema.json is its JSON schema, generated from these structs.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from scheduler_core.api.duration import seconds
from scheduler_core.config.document import load_document, located
from scheduler_core.errors import InputError, refuse
from scheduler_core.releases.remarks import default_release
from scheduler_core.snapshot.files import each_object, is_list, kubelet_version

API_VERSION = "kubesched.dev/v1alpha1"
KIND = "Scenario"
MAX_BYTES = 64_000_000
MAX_ARRIVALS = 1_000_000
_SCENARIO = re.compile(rb'^\s*"?kind"?\s*:\s*"?Scenario\b|"kind"\s*:\s*"Scenario"', re.M)
TAIL_SECONDS = 600.0  # default duration of a run after the last planned change

Duration = str | int | float
"""Seconds, or text such as `90s`, `1h30m`."""


class StrictStruct(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Base class that rejects unknown fields, because a misspelt field would silently have no effect."""


class Meta(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    name: str = ""


class Reference(StrictStruct, kw_only=True):
    """Reference to an object by name."""

    api_version: str = ""
    kind: str
    namespace: str = ""
    name: str


class Patch(Reference, kw_only=True):
    """A JSON merge patch (RFC 7386) for an object."""

    patch: dict[str, Any]


class NodeTaint(StrictStruct, kw_only=True):
    """A taint to add to a node or (untaint) to remove; untaint without an effect removes all taints with the key."""

    node: str
    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute", ""] = ""


class TimelineEntry(StrictStruct, kw_only=True):
    """An action at a certain time. Exactly one of the operations is set."""

    at: Duration
    create: dict[str, Any] | None = None
    update: dict[str, Any] | None = None
    patch: Patch | None = None
    delete: Reference | None = None
    cordon: str | None = None
    uncordon: str | None = None
    drain: str | None = None
    taint: NodeTaint | None = None
    untaint: NodeTaint | None = None

    @property
    def operation(self) -> tuple[str, Any]:
        """Return the (name, argument) of the operation."""
        return next((name, value) for name in OPERATIONS if (value := getattr(self, name)) is not None)


OPERATIONS = ("create", "update", "patch", "delete", "cordon", "uncordon", "drain", "taint", "untaint")


class RandomDuration(StrictStruct, kw_only=True):
    """A random duration: uniform from `min` to `max`, or exponential with a `mean`."""

    min: Duration | None = None
    max: Duration | None = None
    mean: Duration | None = None


class Arrivals(StrictStruct, kw_only=True):
    """Pods created by a pattern: at a fixed interval `every`, or as a Poisson process with a `mean` interval.

    `start`, `end`: first and last time. `count`: maximum number of pods. `duration`: how long each pod runs after it is
    bound. Pods are named `name`-0, `name`-1 ...
    """

    name: str
    template: dict[str, Any]
    every: Duration | None = None
    mean: Duration | None = None
    start: Duration = 0
    end: Duration | None = None
    count: int | None = None
    duration: Duration | RandomDuration | None = None


class BindFailure(StrictStruct, kw_only=True):
    """Makes the next `times` bindings of a pod fail."""

    pod: str
    times: int = 1


class Binding(StrictStruct, kw_only=True):
    """Duration and failures of bindings."""

    seconds: Duration = 0
    failures: list[BindFailure] = []


class Controllers(StrictStruct, kw_only=True):
    """Which other control plane components are simulated."""

    admission: bool = True
    taint_manager: bool = True
    node_lifecycle: bool = True
    workloads: bool = True


class ScenarioSpec(StrictStruct, kw_only=True):
    """Content of a scenario. `kubernetes`: the release; by default that of most kubelets of its nodes. `config`: a
    KubeSchedulerConfiguration, as text or object. `until`: end of the run; by default 10 minutes after the last planned
    change."""

    description: str = ""
    kubernetes: str = ""
    config: str | dict[str, Any] | None = None
    feature_gates: dict[str, bool] = {}
    seed: int = 0
    tie_break: Literal["seed", "name"] = "seed"
    preemption: bool = True
    percentage: int | None = None
    until: Duration | None = None
    grace_periods: bool = True
    binding: Binding = msgspec.field(default_factory=Binding)
    controllers: Controllers = msgspec.field(default_factory=Controllers)
    objects: list[dict[str, Any]] = []
    timeline: list[TimelineEntry] = []
    arrivals: list[Arrivals] = []

    @property
    def release(self) -> str:
        """The release without feature gates. It is not checked if the scenario names it."""
        return self.kubernetes or default_release(self.kubelet_version)

    @property
    def kubelet_version(self) -> str:
        """The version of most kubelets; "" without one."""
        return kubelet_version(obj for _, obj in self.each_object())

    def each_object(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the path and the value of each of `objects`, and of each item of a List. Raises InputError."""
        for i, raw in enumerate(self.objects):
            yield from each_object(raw, "", f"spec.objects[{i}]")


class Scenario(StrictStruct, kw_only=True):
    api_version: Literal["kubesched.dev/v1alpha1"]
    kind: Literal["Scenario"]
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: ScenarioSpec

    def until(self) -> float:
        """Return the end of the run in seconds."""
        if self.spec.until is not None:
            return seconds(self.spec.until)
        planned = [seconds(entry.at) for entry in self.spec.timeline]
        planned += [seconds(a.end) for a in self.spec.arrivals if a.end is not None]
        return max(planned, default=0.0) + TAIL_SECONDS


def load_scenario(source: str | bytes, where: str = "scenario") -> Scenario:
    """Load a scenario from JSON or YAML and validate it without running it.

    Raises InputError whose field begins with the line: `line 12: spec.timeline[3].at`.
    """
    return load_document(source, where, Scenario, MAX_BYTES, _check)


def is_scenario(data: bytes) -> bool:
    """Return whether the content of a file is a Scenario, which runs in virtual time."""
    return API_VERSION.encode() in data and _SCENARIO.search(data) is not None


def at_line(source: str | bytes, error: InputError, path: str) -> InputError:
    """Return an error about the object at `path` of a scenario file, with its line number."""
    return located(source, error.where, f"{path}.{error.field}" if error.field else path, error.problem)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of scenario files."""
    schema = msgspec.json.schema(Scenario)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "KubeSched scenario", **schema}


def export(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario as plain data; `load_scenario` restores the same scenario from its JSON or YAML."""
    plain: dict[str, Any] = msgspec.to_builtins(scenario)
    return plain


# ---- checks


def _check(scenario: Scenario) -> None:
    spec = scenario.spec
    _duration(spec.until, "spec.until")
    _duration(spec.binding.seconds, "spec.binding.seconds")
    for i, failure in enumerate(spec.binding.failures):
        problem = "needs pod (namespace/name) and times of 1 or more"
        refuse("/" not in failure.pod or failure.times < 1, f"spec.binding.failures[{i}]", problem)
    for _ in spec.each_object():
        pass
    for i, entry in enumerate(spec.timeline):
        path = f"spec.timeline[{i}]"
        _duration(entry.at, f"{path}.at")
        given = [name for name in OPERATIONS if getattr(entry, name) is not None]
        problem = f"must have exactly one of {', '.join(OPERATIONS)}; got {', '.join(given) or 'none'}"
        refuse(len(given) != 1, path, problem)
        for name, made in (("create", entry.create), ("update", entry.update)):
            problem = "must be one object: write an entry for each item of the List"
            refuse(made is not None and is_list(made), f"{path}.{name}.kind", problem)
        refuse(entry.taint is not None and not entry.taint.effect, f"{path}.taint.effect", "is missing")
    for i, arrivals in enumerate(spec.arrivals):
        for field in ("every", "mean", "start", "end"):
            _duration(getattr(arrivals, field), f"spec.arrivals[{i}].{field}")
    names: set[str] = set()
    for i, arrivals in enumerate(spec.arrivals):
        refuse(arrivals.name in names, f"spec.arrivals[{i}].name", "occurs twice")
        names.add(arrivals.name)
        _check_arrivals(arrivals, f"spec.arrivals[{i}]", scenario)


def _check_arrivals(arrivals: Arrivals, path: str, scenario: Scenario) -> None:
    refuse((arrivals.every is None) == (arrivals.mean is None), path, "must have exactly one of every, mean")
    name = re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?", arrivals.name)
    refuse(name is None, f"{path}.name", "must consist of lower case letters, digits and -, like pod names")
    kind = "every" if arrivals.every is not None else "mean"
    period = seconds(getattr(arrivals, kind))
    refuse(period <= 0, f"{path}.{kind}", "must be more than 0")
    refuse(arrivals.count is not None and arrivals.count < 1, f"{path}.count", "must be 1 or more")
    end = seconds(arrivals.end) if arrivals.end is not None else scenario.until()
    too_many = arrivals.count is None and (end - seconds(arrivals.start)) / period > MAX_ARRIVALS
    refuse(too_many, path, f"would be more than {MAX_ARRIVALS} pods")
    refuse(arrivals.template.get("kind", "Pod") != "Pod", f"{path}.template.kind", "must be Pod")
    metadata = arrivals.template.get("metadata") or {}
    refuse(not isinstance(metadata, dict), f"{path}.template.metadata", "must be a mapping")
    duration = arrivals.duration
    if isinstance(duration, RandomDuration):
        for field in ("min", "max", "mean"):
            _duration(getattr(duration, field), f"{path}.duration.{field}")
        ranged = duration.min is not None and duration.max is not None
        refuse(ranged == (duration.mean is not None), f"{path}.duration", "must have either min and max, or mean")
    else:
        _duration(duration, f"{path}.duration")


def _duration(value: Duration | None, path: str) -> None:
    try:
        seconds(value if value is not None else 0)
    except ValueError as problem:
        raise InputError("", path, str(problem)) from None
