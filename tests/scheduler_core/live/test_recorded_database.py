"""A database of etcd as a recording."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_core.__main__ import main
from scheduler_core.errors import InputError
from scheduler_core.live import recorded_database
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.watch_events import Item, Listed, WatchEvent
from tests.scheduler_core.etcd.bolt_files import Revision, database, field, stored
from tests.scheduler_core.etcd.test_objects import real


def pod(name: str, seconds: int, node: str = "") -> bytes:
    """Return a pod that was created so many seconds after 1970."""
    meta = field(1, name) + field(3, "shop") + field(5, f"uid of {name}") + field(8, field(1, seconds))
    return stored("v1", "Pod", field(1, meta), field(2, field(10, node)))


def items(*changes: Revision, compacted: int = 0) -> tuple[list[Listed], list[WatchEvent]]:
    found: list[Item] = recorded_database.read(database(changes, compacted), "etcd.db", [])
    return [item for item in found if isinstance(item, Listed)], [
        item for item in found if isinstance(item, WatchEvent)
    ]


def test_changes_after_the_compaction_follow_a_list_of_each_kind() -> None:
    lists, events = items(
        ("/registry/pods/shop/a", pod("a", 10)),
        ("/registry/pods/shop/b", pod("b", 12)),
        ("/registry/pods/shop/a", pod("a", 10, "n1")),
        ("/registry/leases/kube-node-lease/n1", b"k8s\0"),
        ("/registry/pods/shop/b", None),
        ("/registry/pods/shop/c", pod("c", 13)),
        ("/registry/pods/shop/b", pod("b", 40)),
        compacted=3,
    )
    assert {listed.kind: [obj.key for obj in listed.objects] for listed in lists if listed.objects} == {
        "Pod": ["shop/a", "shop/b"]
    }
    assert {listed.kind for listed in lists} == set(KINDS)
    assert {listed.resource_version for listed in lists} == {3}
    assert [(event.type, event.key, event.resource_version, event.time) for event in events] == [
        ("MODIFIED", "shop/a", 4, 12.0),
        ("DELETED", "shop/b", 6, 12.5),
        ("ADDED", "shop/c", 7, 13.0),
        ("ADDED", "shop/b", 8, 40.0),
    ]


def test_an_object_that_is_not_valid_is_named() -> None:
    with pytest.raises(InputError, match=r"^etcd.db: /registry/pods/shop/a: Pod shop/a: .*priority"):
        items(("/registry/pods/shop/a", stored("v1", "Pod", field(1, field(1, "a") + field(3, "shop")),
              field(2, field(25, 2**40)))))  # fmt: skip


@pytest.mark.long
def test_the_decisions_of_a_real_database_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "etcd.db"
    path.write_bytes(real())
    assert main(["shadow", str(path)]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["decisions"], found["explained"]) == (50, 50)
    assert (found["messages"], found["message_classes"]) == (182, {"equal": 175, "earlier": 7})
