"""Files of commands are read as uploads are: with the objects that only waits are read from."""

import json

from kubesched_ui.ingest.command_reader import read_upload
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.ingest.test_neighbours import WORKLOAD, about_pod


def test_objects_of_neighbours_reach_commands() -> None:
    items = [node("n1"), pod("p"), WORKLOAD, about_pod("p", "Nominated")]
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    kinds = [one["kind"] for one in read_upload(data, "a.json").objects]
    assert kinds == ["Node", "Pod", "Workload", "Event"]
