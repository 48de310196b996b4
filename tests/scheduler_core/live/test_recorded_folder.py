import gzip
import json

import pytest

from scheduler_core.errors import InputError
from scheduler_core.live import recorded_folder
from scheduler_core.live.watch_events import NEVER, Bookmark, Gap, Listed, WatchEvent

NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "resourceVersion": "3"}}


def pod(version, name="a", **metadata):
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "resourceVersion": str(version), **metadata},
    }


def line(t, kind, obj):
    return json.dumps({"t": t, "line": json.dumps({"type": kind, "object": obj})})


def bookmark(t, version, **annotations):
    return line(
        t, "BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version), "annotations": annotations}}
    )


def folder(path, **files):
    path.mkdir(exist_ok=True)
    for name, lines in files.items():
        (path / f"{name.replace('_', '.')}.jsonl").write_text("\n".join(lines))
    return path


def page(kind, version, *items, more=""):
    metadata = {"resourceVersion": str(version), "continue": more}
    return json.dumps({"kind": f"{kind}List", "apiVersion": "v1", "metadata": metadata, "items": items})


def test_pages_are_one_list_and_watches_follow_by_time(tmp_path):
    stripped = {"metadata": {"name": "n2"}}
    made = folder(
        tmp_path,
        nodes_list=[page("Node", 3, NODE, more="x"), page("Node", 3, stripped)],
        nodes_watch=[line(2, "MODIFIED", NODE | {"metadata": {"name": "n1", "resourceVersion": "9"}})],
        pods_list=[page("Pod", 4)],
        pods_watch=[
            line(1, "ADDED", pod(5, creationTimestamp="2026-01-01T00:00:00Z")),
            line(3, "DELETED", pod(8)),
            bookmark(4, 11),
        ],
    )
    nodes, pods, *changes = recorded_folder.read(made)
    assert isinstance(nodes, Listed)
    assert [obj.key for obj in nodes.objects] == ["n1", "n2"]
    assert pods == Listed("Pod", 4, (), 1767225599.0)
    assert [(item.kind, item.resource_version, item.time - pods.time) for item in changes] == [
        ("Pod", 5, 1), ("Node", 9, 2), ("Pod", 8, 3), ("Pod", 11, 4)
    ]  # fmt: skip
    assert isinstance(changes[-1], Bookmark)


def test_a_watch_that_began_again_repeats_nothing(tmp_path):
    watch = [
        line(1, "ADDED", pod(5)),
        line(2, "MODIFIED", pod(6)),
        line(3, "ADDED", pod(5)),
        line(3, "MODIFIED", pod(6)),
        line(4, "DELETED", pod(7)),
    ]
    items = list(recorded_folder.read(folder(tmp_path, pods_list=[page("Pod", 4)], pods_watch=watch)))
    assert [(item.type, item.resource_version) for item in items[1:]] == [("ADDED", 5), ("MODIFIED", 6), ("DELETED", 7)]


def test_an_error_of_the_watch_is_a_gap(tmp_path):
    gone = line(2, "ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
    watch = [line(1, "ADDED", pod(5)), gone, line(3, "MODIFIED", pod(9))]
    items = list(recorded_folder.read(folder(tmp_path, pods_list=[page("Pod", 4)], pods_watch=watch)))
    assert items[2] == Gap("Pod", 5, 9, items[3].time)


def test_the_initial_events_of_a_watch_are_a_list(tmp_path):
    end = bookmark(1, 8, **{recorded_folder.INITIAL_EVENTS_END: "true"})
    watch = [line(0, "ADDED", pod(5)), line(0, "ADDED", pod(3, "b")), end, line(2, "DELETED", pod(9))]
    listed, deleted = recorded_folder.read(folder(tmp_path, pods_watch=watch))
    assert isinstance(listed, Listed)
    assert (listed.resource_version, [obj.key for obj in listed.objects]) == (8, ["default/a", "default/b"])
    assert isinstance(deleted, WatchEvent)


def test_a_list_after_an_error_gives_the_changes_and_the_objects(tmp_path):
    gone = line(2, "ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
    end = bookmark(3, 20, **{recorded_folder.INITIAL_EVENTS_END: "true"})
    watch = [line(1, "ADDED", pod(5)), gone, line(3, "ADDED", pod(4, "b")), line(3, "ADDED", pod(11, "c")), end]
    made = folder(
        tmp_path, pods_list=[page("Pod", 4, pod(4, "b"))], pods_watch=[*watch, line(4, "DELETED", pod(21, "b"))]
    )
    _, _, gap, *changes, listed, deleted = recorded_folder.read(made)
    assert gap == Gap("Pod", 5, 20, gap.time)
    assert [(one.type, one.key, one.resource_version) for one in changes] == [
        ("ADDED", "default/c", 11),
        ("DELETED", "default/a", 20),
    ]
    assert (listed.resource_version, [obj.key for obj in listed.objects]) == (20, ["default/b", "default/c"])
    assert (deleted.type, deleted.key) == ("DELETED", "default/b")


@pytest.mark.parametrize("change", ["MODIFIED", "DELETED"])
def test_a_change_of_an_unknown_object_is_a_gap_without_an_end(tmp_path, change):
    watch = [line(1, "ADDED", pod(5)), line(2, change, pod(9, "b")), line(3, "MODIFIED", pod(10, "d"))]
    items = list(recorded_folder.read(folder(tmp_path, pods_list=[page("Pod", 4)], pods_watch=watch)))
    assert items[2] == Gap("Pod", 5, NEVER, items[3].time)
    assert [type(item) for item in items[3:]] == [WatchEvent, WatchEvent]


def test_a_watch_that_was_cut_is_read_up_to_there(tmp_path):
    watch = [line(1, "ADDED", pod(5)), line(2, "MODIFIED", pod(6))]
    made = folder(tmp_path, pods_list=[page("Pod", 4)], pods_watch=[watch[0], watch[1][:40]])
    notes = []
    assert [item.resource_version for item in recorded_folder.read(made, notes)] == [4, 5]
    assert notes == [f"{made}/pods.watch.jsonl ends within a line; it is read up to line 1."]
    (made / "pods.watch.jsonl").unlink()
    whole = gzip.compress("\n".join(watch * 500).encode(), 0)
    (made / "pods.watch.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    assert [item.resource_version for item in recorded_folder.read(made)] == [4, 5, 6]


def test_a_line_of_a_watch_that_was_cut_is_left_out_and_is_a_gap(tmp_path):
    whole = [line(1, "ADDED", pod(5)), line(2, "ADDED", pod(6, "b")), bookmark(2, 7), line(3, "ADDED", pod(8, "c"))]
    inner = json.dumps({"t": 2, "line": json.loads(whole[1])["line"][:30]})
    for number, cut in enumerate((whole[1][:40], inner)):
        made = folder(tmp_path / str(number), pods_list=[page("Pod", 4)], pods_watch=[whole[0], cut, *whole[2:]])
        notes = []
        items = list(recorded_folder.read(made, notes))
        assert items[2] == Gap("Pod", 5, 8, items[3].time)
        assert [item.key for item in items if isinstance(item, WatchEvent)] == ["default/a", "default/c"]
        place = f"{made}/pods.watch.jsonl, line 2"
        assert notes == [f"left out, because not readable: 1 line ({place}: Input data was truncated)"]
    end = bookmark(1, 8, **{recorded_folder.INITIAL_EVENTS_END: "true"})
    for number, watch in enumerate(([whole[1][:40], whole[2][:30] + "\n"], [whole[0], whole[1][:40], end])):
        with pytest.raises(InputError, match="watch"):
            list(recorded_folder.read(folder(tmp_path / f"no-{number}", pods_list=[], pods_watch=watch)))


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "is not a recorded folder"),
        ({"pods_list": ["{"]}, "pods.list.jsonl, line 1: cannot be read"),
        ({"pods_list": [page("Pod", 4, more="x")]}, "line 1: metadata.continue: the last page of the list is missing"),
        ({"pods_list": [page("Pod", "x")]}, "line 1: metadata.resourceVersion: must be a number"),
        ({"pods_list": ['{"kind": "Pod"}']}, "line 1: kind: must be that of a list"),
        (
            {"pods_watch": ["", '{"line": ""}']},
            "pods.watch.jsonl, line 2: cannot be read: Object missing required field `t`",
        ),
        ({"pods_watch": ['{"t": 1, "line": "{\\"type\\": 3}"}']}, "line 1: cannot be read: Expected `str`, got `int`"),
        ({"pods_watch": [line(1, "ADDED", {"kind": "Pod", "metadata": {}})]}, "line 1: metadata.resourceVersion"),
        ({"pods_watch": [line(1, "GONE", pod(3))]}, "line 1: type: 'GONE' is not a type"),
        (
            {"pods_watch": [line(1, "ADDED", pod(3) | {"spec": {"priority": "high"}})]},
            "pods.watch.jsonl, line 1: Pod default/a: spec.priority: Expected `int | null`, got `str`",
        ),
        (
            {"nodes_list": [page("Node", 4, {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "x"}}})]},
            "nodes.list.jsonl, line 1: Node n: status.allocatable['cpu']",
        ),
    ],
)
def test_broken_folders_are_refused_by_file_line_and_field(tmp_path, files, problem):
    with pytest.raises(InputError) as raised:
        list(recorded_folder.read(folder(tmp_path, **files)))
    assert problem in str(raised.value)


def test_a_file_that_was_cut_is_refused(tmp_path):
    whole = gzip.compress((page("Pod", 4) + "\n").encode() * 100)
    (tmp_path / "pods.list.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"pods.list.jsonl.gz, line \d+: cannot be read"):
        list(recorded_folder.read(tmp_path))


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        list(recorded_folder.read(tmp_path / "none"))
