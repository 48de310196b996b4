"""A small part of a kube-scheduler's log, in both formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

Line = tuple[int, str, str, dict[str, Any]]  # milliseconds, caller, message, values

GROUPED = "Attempting to schedule a pod belonging to a pod group"
RAW = "Listed internal info for allocatable resources, requested resources and score"
MOVED = "Pod moved to an internal scheduling queue"
NO_FIT = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new claims to deallocate"
WEIGHTS = {"Score": {"Enabled": [{"Name": "TaintToleration", "Weight": 3}, {"Name": "NodeResourcesFit", "Weight": 1}]}}

LIFE: tuple[Line, ...] = (
    (0, "framework.go:502", "the scheduler starts to work with those plugins", {"Plugins": WEIGHTS}),
    (1, "server.go:183", "Starting Kubernetes Scheduler", {"version": "v1.36.2"}),
    (10, "eventhandlers.go:214", "Add event for unscheduled pod", {"pod": "shop/a"}),
    (11, "active_queue.go:111", MOVED, {"pod": "shop/a", "event": "UnschedulablePodAdd", "queue": "Active"}),
    (12, "schedule_one.go:123", "Attempting to schedule pod", {"pod": "shop/a"}),
    (13, "resource_allocation.go:158", RAW,
     {"logger": "Score.NodeResourcesFit", "pod": "shop/a", "node": "n1", "resourceScore": 40}),
    (14, "schedule_one.go:982", "Plugin scored node for pod",
     {"pod": "shop/a", "plugin": "TaintToleration", "node": "n1", "score": 300}),
    (14, "schedule_one.go:982", "Plugin scored node for pod",
     {"pod": "shop/a", "plugin": "NodeResourcesFit", "node": "n1", "score": 40}),
    (15, "schedule_one.go:1050", "Calculated node's final score for pod",
     {"pod": "shop/a", "node": "n1", "score": 340}),
    (15, "schedule_one.go:1050", "Calculated node's final score for pod",
     {"pod": "shop/a", "node": "n2", "score": 345}),
    (16, "batch.go:107", "OpportunisticBatch set cycle state", {"pod": "shop/a", "chosenNode": "n2"}),
    (20, "schedule_one.go:481", "Successfully bound pod to node",
     {"pod": "shop/a", "node": "n2", "evaluatedNodes": 2, "feasibleNodes": 2}),
    (21, "eventhandlers.go:335", "Delete event for unscheduled pod", {"pod": "shop/a"}),
    (21, "eventhandlers.go:374", "Add event for scheduled pod", {"pod": "shop/a"}),
    (30, "eventhandlers.go:214", "Add event for unscheduled pod", {"pod": "shop/b"}),
    (31, "schedule_one.go:123", "Attempting to schedule pod", {"pod": "shop/b"}),
    (33, "schedule_one.go:1239", "Unable to schedule pod; no fit; waiting", {"pod": "shop/b", "err": NO_FIT}),
    (34, "scheduling_queue.go:958", MOVED,
     {"pod": "shop/b", "event": "ScheduleAttemptFailure", "queue": "Unschedulable",
      "unschedulable plugins": {"NodeResourcesFit": {}, "TaintToleration": {}}}),
    (35, "schedule_one.go:1325", "Updating pod condition and nominated node name",
     {"pod": "shop/b", "nominatedNodeName": "n2"}),
    (36, "executor.go:152", "Preemptor Pod preempted victim Pod",
     {"preemptor": "shop/b", "victim": "shop/a", "node": "n2"}),
    (40, "eventhandlers.go:443", "Delete event for scheduled pod", {"pod": "shop/a"}),
    (50, "eventhandlers.go:214", "Add event for unscheduled pod", {"pod": "shop/c"}),
    (51, "scheduling_queue.go:654", "Status after running PreEnqueue plugin",
     {"pod": "shop/c", "plugin": "SchedulingGates", "status": "waiting for scheduling gates: [example.com/quota]"}),
    (60, "schedule_one_podgroup.go:413", GROUPED, {"podGroup": "shop/g", "pod": "shop/g-0"}),
    (61, "schedule_one.go:1182", "Failed to bind pod", {"pod": "shop/g-0"}),
    (62, "schedule_one.go:1243", "Error scheduling pod; retrying", {"pod": "shop/g-0", "err": "the \"API\" is away"}),
)  # fmt: skip


def text(lines: Sequence[Line] = LIFE, before: str = "") -> str:
    """Return klog's text."""
    return "".join(f"{before}{_text(line)}\n" for line in lines)


def _text(line: Line) -> str:
    milliseconds, caller, message, values = line
    level = "E" if message.startswith("Error") else "I"
    header = f"{level}1231 23:59:59.{milliseconds:03}000   18787 {caller}]"
    return f"{header} {_quoted(message)}" + "".join(f" {key}={_value(value)}" for key, value in values.items())


def _value(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def json_lines(lines: Sequence[Line] = LIFE) -> str:
    """Return the lines of `--logging-format=json`, in which the key pod stands twice."""
    return "".join(f"{_json(line)}\n" for line in lines)


def _json(line: Line) -> str:
    milliseconds, caller, message, values = line
    found = {key: _reference(value) if key == "pod" else value for key, value in values.items()}
    head = {"ts": 1795886840270.5 + milliseconds, "caller": f"scheduler/{caller}", "msg": message}
    if "pod" in found:
        head |= {"pod": found["pod"], "v": 3}
    return (
        json.dumps(head)[:-1] + "".join(f", {json.dumps(key)}: {json.dumps(one)}" for key, one in found.items()) + "}"
    )


def _reference(key: str) -> dict[str, str]:
    namespace, _, name = key.partition("/")
    return {"name": name, "namespace": namespace}
