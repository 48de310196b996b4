"""A long List is read in parts, with the same result as its whole text."""

import gzip
import json
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from kubesched_ui.ingest import IngestError, Limits, archives, ingest_files, reader
from kubesched_ui.ingest.formats import OUR_GROUP
from kubesched_ui.ingest.long_lists import LongList, NotInParts
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.ingest.test_pod_templates import pod as template_pod

OBJECTS = [node("n1"), node("n2", labels={"a": "]},{"}), pod("p", on="n1"), *map(template_pod, range(1, 9))]


def text(*objects: Any, indent: int | None = None, **more: Any) -> bytes:
    return json.dumps({"apiVersion": "v1", "items": list(objects), "kind": "List"} | more, indent=indent).encode()


def kinds_first(*objects: Any, kind: str = "List") -> bytes:
    document = {"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": list(objects)}
    return (
        json.dumps(dict(document), separators=(",", ":")).encode().replace(b'"metadata":{"resourceVersion":"7"},', b"")
    )


BARE = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in OBJECTS[:2]]
WHOLE = text(*OBJECTS)
IN_PARTS = {
    "as kubectl": text(*OBJECTS, indent=4, metadata={"resourceVersion": ""}),
    "as an API server": kinds_first(*OBJECTS),
    "nothing": text(),
    "without a kind": text(*OBJECTS).replace(b', "kind": "List"', b""),
    "a broken object": text(*OBJECTS, {"kind": "Node", "metadata": {"name": "a/b"}}),
    "another kind": text({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}}, *OBJECTS),
    "an object twice": text(*OBJECTS, OBJECTS[0], node("n1", cpu="9")),
    "blanks": WHOLE.replace(b"}, {", b"}\r\n\t ,{").replace(b'"items": [', b'"items":\n[ ') + b"\n \n",
    "a nested list": text(*OBJECTS[:2], {"kind": "List", "items": [OBJECTS[2]]}),
    "a list of a kind": text(*OBJECTS[:2], {"kind": "PodList", "items": [{"metadata": {"name": "q"}, "spec": {}}]}),
}
NOT_IN_PARTS = {
    "kinds of the list": kinds_first(*BARE, kind="NodeList"),
    "kinds that are missing": text(*BARE),
    "a kind that is no list": text(*OBJECTS, kind="Pod"),
    "an outline": text(
        *OBJECTS, metadata={"annotations": {f"{OUR_GROUP}name": "a", f"{OUR_GROUP}kubernetes": "v1.30.0"}}
    ),
    "an element that is no object": text(*OBJECTS, 5),
    "a null": text(OBJECTS[0], None),
    "a configuration": text(
        *OBJECTS, {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
    ),
    "a second document": WHOLE + WHOLE,
    "a damaged second document": WHOLE + b"{",
    "YAML after it": WHOLE + b"\n---\nkind: Node\nmetadata: {name: n7}\n",
    "no comma": WHOLE.replace(b"}, {", b"} {", 1),
    "two commas": WHOLE.replace(b"}, {", b"},, {", 1),
    "a comma before": WHOLE.replace(b"[{", b"[,{", 1),
    "a comma after": WHOLE.replace(b'}], "kind"', b'},], "kind"'),
    "malformed": WHOLE.replace(b'"template', b'"\x01template').replace(b'"n2"', b'n2"', 1),
    "cut off": WHOLE[:-30],
    "cut off in an element": WHOLE[:2000],
    "cut off after an element": WHOLE[: WHOLE.index(b"}, {") + 1],
    "a NUL": WHOLE.replace(b'"n1"', b'"n\0"'),
    "no UTF-8": WHOLE.replace(b'"n1"', b'"n\xff"'),
    "an audit log": kinds_first(
        {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": "1"}, kind="EventList"
    ).replace(b'"v1"', b'"audit.k8s.io/v1"', 1),
    "too many nodes": text(*(node(f"n{number}") for number in range(20))),
    "too large": text(*OBJECTS, pod("q", text="x" * 40_000)),
}


def outcome(upload: bytes) -> Any:
    try:
        result = ingest_files([("a.json", upload)], Limits(max_nodes=9, max_text=40_000))
    except IngestError as error:
        return str(error)
    found = {field.name: getattr(result, field.name) for field in fields(result)}
    return found | {
        "filled": result.filled.counts,
        "records": {key: record.data for key, record in result.records.items()},
    }


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("name", [*IN_PARTS, *NOT_IN_PARTS])
def test_a_list_is_read_in_parts_as_its_text(name: str, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = (IN_PARTS | NOT_IN_PARTS)[name]
    upload = gzip.compress(upload, mtime=0) if packed else upload
    whole = outcome(upload)
    read = list[str]()

    def watched(self: Any, where: Any, data: LongList) -> None:
        try:
            long_list(self, where, data)
            read.append("in parts")
        except NotInParts:
            read.append("whole")
            raise

    long_list = reader._Reading._long_list
    monkeypatch.setattr(reader._Reading, "_long_list", watched)
    monkeypatch.setattr(archives, "LONG", 1)
    for size in (61, 997, archives.CHUNK):
        read.clear()
        monkeypatch.setattr(archives, "CHUNK", size)
        assert outcome(upload) == whole
        assert read == ["in parts"] if name in IN_PARTS else "in parts" not in read


def test_a_damaged_archive_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(WHOLE)[:-40]
    whole = outcome(packed)
    assert "is a damaged gz file" in whole
    monkeypatch.setattr(archives, "LONG", 1)
    assert outcome(packed) == whole


def test_members_and_short_texts_are_read_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(reader._Reading, "_long_list", refused)
    assert len(ingest_files([("a.json", WHOLE)]).records) == len(OBJECTS)
    monkeypatch.setattr(archives, "LONG", 1)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.json", WHOLE)
    assert len(ingest_files([("a.zip", tmp_path / "a.zip")]).records) == len(OBJECTS)
