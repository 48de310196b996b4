"""An audit log of the API server as a recording."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubesched_ui.ingest import ingest_files
from scheduler_core.__main__ import main
from scheduler_core.errors import InputError
from scheduler_core.live import recorded_audit_log
from scheduler_core.live.watch_events import Listed, WatchEvent

CREATED = "2026-01-01T00:00:00Z"


def entry(second: int, verb: str, response: Any, subresource: str = "", code: int = 200, **fields: Any) -> str:
    response = {"apiVersion": "v1", **response}
    metadata = response.get("metadata", {})
    found = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "stage": "ResponseComplete",
        "verb": verb,
        "stageTimestamp": f"2026-01-01T00:00:{second:02}.000000Z",
        "objectRef": {"resource": f"{response['kind'].lower()}s", "subresource": subresource,
                      "namespace": metadata.get("namespace", ""), "name": metadata.get("name", "")},
        "responseStatus": {"code": code},
        "responseObject": response,
    }  # fmt: skip
    return json.dumps(found | fields)


def node(version: int) -> dict[str, Any]:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    return {"kind": "Node", "metadata": {"name": "n1", "resourceVersion": str(version)}, "status": status}


def pod(version: int, name: str = "a", **metadata: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "shop", "uid": name, "resourceVersion": str(version),
            "creationTimestamp": CREATED, **metadata}  # fmt: skip
    return {"kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "c", "image": "a:1"}]}}


def about(subresource: str, second: int, **request: Any) -> str:
    """Return the entry of a binding or an eviction of the pod shop/a."""
    reference = {"resource": "pods", "subresource": subresource, "namespace": "shop", "name": "a"}
    return entry(second, "create", {"kind": "Status"}, code=201, objectRef=reference, requestObject=request)


LIFE = [
    entry(1, "patch", node(3), "status"),
    entry(2, "create", pod(5), code=201),
    entry(2, "create", pod(0, "b"), code=403),
    about("binding", 3, target={"name": "n1"}),
    entry(4, "patch", node(8), "status"),
    about("eviction", 5),
    entry(6, "delete", pod(9, deletionTimestamp=CREATED, deletionGracePeriodSeconds=30)),
    entry(7, "delete", pod(11, deletionTimestamp=CREATED, deletionGracePeriodSeconds=0)),
    entry(8, "create", {"kind": "TokenRequest", "status": {"token": "s3cr3t"}}, "token", 201),
]


def read(*lines: str) -> tuple[list[Listed], list[WatchEvent]]:
    found = recorded_audit_log.read("\n".join(lines).encode(), "audit.log", [])
    lists = [item for item in found if isinstance(item, Listed)]
    return lists, [item for item in found if isinstance(item, WatchEvent)]


def test_a_life_of_a_pod_is_read_from_answers_and_bindings() -> None:
    lists, events = read(*LIFE)
    assert (lists, events) == read(*LIFE[:3], "", " \r", *LIFE[3:]), "empty lines mean nothing"
    assert [(listed.kind, [obj.key for obj in listed.objects]) for listed in lists] == [("Node", ["n1"]), ("Pod", [])]
    assert [(event.type, event.key, event.resource_version) for event in events] == [
        ("ADDED", "shop/a", 5),
        ("MODIFIED", "shop/a", 5),
        ("MODIFIED", "n1", 8),
        ("MODIFIED", "shop/a", 8),
        ("MODIFIED", "shop/a", 9),
        ("DELETED", "shop/a", 11),
    ]
    bound = events[1].object
    assert bound.spec.node_name == "n1"  # type: ignore[attr-defined]
    assert events[1].time == events[0].time + 1


def test_the_decisions_of_a_log_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.log"
    path.write_text("\n".join(LIFE))
    classes = tmp_path / "classes.json"
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    classes.write_text(json.dumps(priority))
    assert main(["shadow", str(path), "--cluster", str(classes)]) == 0
    printed = capsys.readouterr()
    decision, last = map(json.loads, printed.out.splitlines())
    assert (decision["pod"], decision["node"], decision["outcome"]) == ("shop/a", "n1", "same")
    assert last["explained"] == 1
    assert "priorityclasses were not recorded" not in printed.err
    assert "services were not recorded" in printed.err


CUTS = {
    "within a line": lambda line: line[:90],
    "within a character": lambda line: line[:90] + b"\xc3",
    "a part of a line": lambda line: line[90:],
    "zeros of a full disk": lambda line: line[:90] + b"\0" * 40,
    "two entries in one line": lambda line: line[:90] + line,
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("place", [0, 4, len(LIFE)])
def test_a_line_that_is_cut_is_left_out_and_named(cut: Callable[[bytes], bytes], place: int) -> None:
    lines = [line.replace(": ", ":").replace(", ", ",").encode() for line in LIFE]  # as Go writes them
    damaged = cut(lines[4])
    data, notes = b"\n".join([*lines[:place], damaged, *lines[place:]]), list[str]()
    assert recorded_audit_log.is_audit_log(data)
    found = recorded_audit_log.read(data, "audit.log", notes)
    assert found == recorded_audit_log.read(b"\n".join(lines), "audit.log", [])
    (note,) = notes
    assert note.startswith(f"left out, because not readable: 1 line (line {place + 1}: ")
    (warning,) = (one for one in ingest_files([("audit.log", data)]).warnings if one.code == "cleaned")
    assert warning.message == f"audit.log: {note}"


def test_of_many_lines_that_are_cut_the_first_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.log"
    path.write_text("\n".join([*LIFE, *["{"] * 2000]))
    assert main(["shadow", str(path)]) == 0
    named = "; ".join(f"line {len(LIFE) + n}: Input data was truncated" for n in (1, 2, 3))
    text = f"{path}: left out, because not readable: 2,000 lines ({named}; and 1,997 more)"
    assert text in capsys.readouterr().err
    path.write_text("\n".join(['{"apiVersion":"audit.k8s.io/v1"', "{"]))
    assert main(["shadow", str(path)]) == 2
    assert "no line can be read: line 1: Input data was truncated; line 2: Input" in capsys.readouterr().err


def test_entries_that_the_api_server_has_truncated_are_counted() -> None:
    cut = [json.loads(line) | {"annotations": {"audit.k8s.io/truncated": "true"}} for line in (LIFE[1], LIFE[8])]
    for one in cut:
        del one["responseObject"]
    notes = list[str]()
    recorded_audit_log.read("\n".join([LIFE[0], *map(json.dumps, cut)]).encode(), "audit.log", notes)
    assert notes == ["objects are missing, because the API server has truncated 1 entry"]


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pods.json"
    path.write_text(json.dumps(pod(3)))
    assert main(["shadow", str(path)]) == 2
    assert "is neither a recorded folder nor a database of etcd nor an audit log" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (entry(3, "patch", pod(0) | {"spec": {"priority": "x"}}), "audit.log, line 2: Pod shop/a: spec.priority: "),
        (
            entry(3, "patch", pod(0, resourceVersion="x")),
            "audit.log, line 2: responseObject.metadata.resourceVersion: ",
        ),
    ],
)
def test_broken_lines_are_named(line: str, says: str) -> None:
    with pytest.raises(InputError) as problem:
        read(LIFE[0], line)
    assert str(problem.value).startswith(says)
