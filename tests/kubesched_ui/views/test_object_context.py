"""Object page: an object at a timepoint with a marked line; the configuration with the line of an argument."""

import pytest
from django.test import Client

from kubesched_ui.editor.yaml_documents import path_steps
from kubesched_ui.models import Run
from kubesched_ui.views.object_context import lines
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import ran

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins: {score: {enabled: [{name: ImageLocality, weight: 7}]}}
    pluginConfig:
      - name: InterPodAffinity
        args:
          hardPodAffinityWeight: 9
"""

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(client: Client) -> Run:
    return ran(client, as_list(node("n1"), node("n2"), pod("p")), config=CONFIG)


def hits(run: Run, **query: str | int) -> list[str]:
    answer = Client(headers={"host": "localhost"}).get(f"/runs/{run.pk}/object/", query)
    assert answer.status_code == 200, answer.content
    return [line["text"].strip() for line in answer.context["lines"] if line["hit"]]


def test_the_line_of_a_field_is_marked(run: Run) -> None:
    requests = "spec.containers[0].resources.requests.cpu"
    assert hits(run, kind="Pod", namespace="default", name="p", path=requests, cycle=1) == ["cpu: '1'"]
    assert hits(run, kind="Node", name="n1", path="metadata.labels['kubernetes.io/hostname']") == [
        "kubernetes.io/hostname: n1"
    ]
    assert hits(run, kind="Pod", name="default/p", path=requests, cycle=1) == ["cpu: '1'"]
    assert hits(run, kind="Node", name="n1", path="spec.unschedulable") == ["spec: {}"]
    assert hits(run, kind="Pod", namespace="default", name="p", path="spec.nodeName") != []


def test_the_line_of_an_argument_is_marked(run: Run) -> None:
    parameters = {"kind": "KubeSchedulerConfiguration", "profile": "default-scheduler"}
    assert hits(run, **parameters, plugin="InterPodAffinity", path="hardPodAffinityWeight") == [
        "hardPodAffinityWeight: 9"
    ]
    found = hits(run, **parameters, plugin="ImageLocality", path="plugins.score.enabled[0].weight")
    assert found == ["plugins: {score: {enabled: [{name: ImageLocality, weight: 7}]}}"]
    assert hits(run, **parameters, plugin="NodeResourcesFit", path="scoringStrategy.type") == [
        "- schedulerName: default-scheduler"
    ]


def test_invalid_urls_give_an_error(client: Client, run: Run) -> None:
    for query, status in (
        ({"kind": "Node", "name": "n9"}, 404),
        ({"kind": "Node", "name": "n1", "cycle": "99"}, 400),
        ({"kind": "Node", "name": "n1", "cycle": "x"}, 400),
        ({"kind": "Node", "name": "n1", "path": "a[[[0]']'.b" * 50}, 200),
        ({}, 404),
    ):
        assert client.get(f"/runs/{run.pk}/object/", query).status_code == status, query
    assert client.get("/runs/999999/object/", {"kind": "Node", "name": "n1"}).status_code == 404


def test_unusual_paths_and_text_that_is_no_yaml() -> None:
    assert path_steps("spec.containers[0].x['a.b/c']") == ("spec", "containers", 0, "x", "a.b/c")
    assert [line["hit"] for line in lines("a: [", ["a"])] == [False]


@pytest.mark.parametrize(
    "parameters", ["kind=Pod&name=p", "kind=Pod&name=", "kind=Pod&name=/p", "kind=&name=a/b/c", ""]
)
def test_missing_objects_are_404(client: Client, run: Run, parameters: str) -> None:
    assert client.get(f"/runs/{run.pk}/object/?{parameters}").status_code == 404
