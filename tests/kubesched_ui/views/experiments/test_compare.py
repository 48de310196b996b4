"""The form and the page of the question compare."""

import msgspec
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.test import Client

from kubesched_ui.models import Scenario
from kubesched_ui.presenters import experiment_charts
from kubesched_ui.presenters.experiment_charts import ChartPoint
from kubesched_ui.presenters.metric_values import cell_metric_text, mean_text, metric_text, plotted, plotted_title
from kubesched_ui.views.experiments import compare
from tests.kubesched_ui.pages import Page, get, source
from tests.kubesched_ui.recordings import node, pod, scenario
from tests.kubesched_ui.views.experiments.finished import example_document, finished, submitted

pytestmark = pytest.mark.django_db
PASTED = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {score: {disabled: [{name: ImageLocality}]}}}]
"""


@pytest.fixture
def cluster(db: None) -> Scenario:
    """A large pod fits only where small pods are packed."""
    pods = [pod("a"), pod("b"), pod("big", cpu="4")]
    return scenario(node("n1", cpu="4"), node("n2", cpu="4"), *pods, name="<b>two</b>")


def test_form_starts_runs_and_the_page_answers(client: Client, cluster: Scenario) -> None:
    address = f"/scenarios/{cluster.pk}/experiments/compare/"
    form = source(client, address)
    assert "Which configuration places pods best?" in form
    assert 'enctype="multipart/form-data"' in form
    assert form.count('name="configurations"') == 3
    assert "data-cost=" in form
    chosen = ["default", "MostAllocated"]
    experiment = finished(client, cluster, "compare", configurations=chosen, releases=["1.36", "1.34"], seeds=2)
    assert experiment.cells_total == 8
    assert experiment.sentence.startswith("MostAllocated, 1.36 and MostAllocated, 1.34 leave the fewest pods pending")
    address = f"/experiments/{experiment.pk}/"
    page = get(client, address)
    assert page.inline == []
    text = source(client, address)
    assert "Pareto front (◆): MostAllocated, 1.36; MostAllocated, 1.34." in source(client, f"{address}?x=nodes_used")
    assert "default/big" in text
    assert "number of placed pods" in text
    assert '<span class="badge ok">best</span>' in text
    assert "<b>two</b>" not in page.source
    assert f"{address}cells/3/" in text  # the first cell of the second variant


def test_changes_are_compared_by_a_document_of_which_there_is_an_example(client: Client, cluster: Scenario) -> None:
    text = source(client, f"/scenarios/{cluster.pk}/experiments/compare/")
    assert "Changes of the cluster, such as a cordoned node, are compared if a document names them." in text
    link = f"/experiments/?example=compare&scenario={cluster.pk}"
    assert f'"{link}#t-document"' in text
    experiment = submitted(client, "/experiments/", document=example_document(client, link))
    assert experiment.sentence.startswith("Both changes leave 1 pod pending; n1 cordoned uses the fewest nodes")
    empty = scenario(pod("p"))
    example = example_document(client, f"/experiments/?example=compare&scenario={empty.pk}")
    experiment = submitted(client, "/experiments/", document=example)
    assert experiment.sentence.startswith("another node leaves the fewest pods pending: 0 instead of 1")
    for query in ("example=none", "example=noise&scenario=1", "example=compare", "example=compare&scenario=x"):
        assert example_document(client, f"/experiments/?{query}") == ""
    assert client.get("/experiments/?example=compare&scenario=99999999999999999999").status_code == 404


def test_axes_are_part_of_the_address(client: Client, cluster: Scenario) -> None:
    chosen = ["default", "MostAllocated"]
    experiment = finished(client, cluster, "compare", configurations=chosen, releases=["1.36"], seeds=1)
    address = f"/experiments/{experiment.pk}/"
    assert "One seed each, so differences may be luck." in source(client, address)
    text = source(client, f"{address}?x=requested_share:cpu:mean&y=nonsense")
    assert "Neither high nor low values of Requested share of cpu, mean are better" in text
    query = "x=requested_share%3Acpu%3Astddev&y=pending"
    figure = msgspec.json.decode(client.get(f"{address}charts/scatter/?{query}").content)
    assert (
        figure["layout"]["xaxis"]["title"]["text"]
        == "Requested share of cpu, standard deviation, %<br>(lower is better)"
    )
    assert figure["data"][0]["name"] == "Pareto front"
    full = msgspec.json.decode(client.get(f"{address}charts/fullness/?resource=memory").content)
    assert full["layout"]["xaxis"]["title"]["text"] == "memory requested"
    assert [trace["name"] for trace in full["data"]] == chosen
    assert len({(trace["line"]["dash"], trace["marker"]["symbol"]) for trace in full["data"]}) == 2
    assert client.get(f"{address}charts/other/").status_code == 404


def test_without_a_difference_there_is_no_plot_of_one_point(client: Client) -> None:
    chosen = {"configurations": ["default", "MostAllocated"], "releases": ["1.36"], "seeds": 1}
    running = scenario(node("n1"), pod("a", nodeName="n1"))
    text = source(client, f"/experiments/{finished(client, running, 'compare', **chosen).pk}/")
    assert f'<a href="/compose/?scenario={running.pk}">add pending pods</a>' in text
    assert 'data-chart="scatter"' not in text
    assert "Pods that make the difference" not in text
    pending = scenario(node("n1"), pod("a"))
    text = source(client, f"/experiments/{finished(client, pending, 'compare', **chosen).pk}/")
    assert "All metrics are equal." in text
    assert 'data-chart="scatter"' not in text


def test_pasted_and_uploaded_configurations(client: Client, cluster: Scenario) -> None:
    file = SimpleUploadedFile("mine.yaml", PASTED.encode())
    form = {"config": PASTED, "config_file": file, "releases": ["1.36"], "seeds": 1}
    experiment = finished(client, cluster, "compare", **form)
    assert [row["title"] for row in experiment.answer["variants"]] == ["pasted", "file"]
    assert "No workload differs" in source(client, f"/experiments/{experiment.pk}/")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"configurations": []}, "Select at least one configuration"),
        ({"seeds": 0}, "greater than or equal to 1"),
        ({"seeds": 10**9}, "less than or equal to 100"),
        ({"releases": []}, "This field is required"),
        (
            {"configurations": ["default", "MostAllocated"], "releases": ["1.16", "1.36"]},
            "Kubernetes 1.16 has no strategy MostAllocated",
        ),
        ({"releases": ["9.99"]}, "9.99 is not one of the available choices"),
        ({"config": "kind: Wrong"}, "spec.configurations[1].config"),
        ({"config_file": SimpleUploadedFile("x.yaml", b"\xff\xfe")}, "The file is not text in UTF-8."),
    ],
)
def test_refused_forms_name_the_field(
    client: Client, cluster: Scenario, change: dict[str, object], problem: str
) -> None:
    form = {"configurations": ["default"], "releases": ["1.36"], "seeds": 1} | change
    response = client.post(f"/scenarios/{cluster.pk}/experiments/compare/", form)
    assert response.status_code == 400
    assert problem in Page(response).flat.replace("&#x27;", "'")
    assert cluster.experiments.count() == 0


def test_only_strategies_of_the_release_are_selected(cluster: Scenario) -> None:
    for version, selected in (("v1.11.3", ["default"]), ("v1.34.0", ["default", *compare.STRATEGIES])):
        cluster.kubernetes = version
        assert compare.CompareForm(scenario=cluster).initial["configurations"] == selected


def test_many_variants_are_rows() -> None:
    variants = [
        {
            "title": f"v{index}",
            "labels": {},
            "cells": [index],
            "failed": 0,
            "metrics": {"pending": dict.fromkeys(("mean", "stddev", "min", "max"), index)},
            "fullness": {},
        }
        for index in range(60)
    ]
    answer = {"variants": variants, "best": {"pending": {"variants": [0], "clear": True}}, "axes": ["pending"] * 2}
    found = compare.tables(answer, QueryDict("page=2"))
    assert not found["wide"]
    assert found["heads"] == ["Pods pending"]
    assert [variant["title"] for variant, _ in found["variant_page"].object_list] == [f"v{i}" for i in range(50, 60)]
    assert compare.cell(answer, "pending", 0) == ("0", "best")


def test_intervals_without_nodes_are_left_out() -> None:
    rows = [{"fullness": {"cpu": [0, 2, 0, 1.5]}}, {"fullness": {"cpu": [0, 0, 0, 3]}}, {"fullness": {}}]
    assert compare.fullness_rows(rows, "cpu") == [("25 to 50%", ["2", "0", "0"]), ("75 to 100%", ["1.5", "3", "0"])]


def test_points_with_equal_coordinates_are_merged_and_escaped() -> None:
    points = [ChartPoint("<i>a", 1, 1), ChartPoint("b", 1, 1), ChartPoint("c", 2, 2, (0, 0.5))]
    front, others = experiment_charts.scatter(points, [0, 1], "x", "y")["data"]
    assert front["text"] == ["&lt;i>a, b"]
    assert (front["marker"]["symbol"], others["marker"]["symbol"]) == ("diamond", "circle-open")
    assert (others["x"], others["error_y"]["array"]) == ([2], [0.5])


def test_values_have_units() -> None:
    assert metric_text("pending", 1234) == "1,234"
    texts = {
        ("price", 123456.78): "123,457",
        ("price", 0.3): "0.30",
        ("price", 0.00012): "0.00012",
        ("gap", 0.0036): "0.36%",
    }
    assert {of: cell_metric_text(*of) for of in texts} == texts
    assert metric_text("wait:p95", 2.5) == "2.50 s"
    assert metric_text("requested_share:cpu:mean", 0.256) == "25.6%"
    assert metric_text("stranded:cpu", 1500) == "1.50 cores"
    assert metric_text("stranded:memory", 3 << 30) == "3Gi"
    assert metric_text("pending", None) == mean_text("pending", None) == "–"
    assert mean_text("pending", {"mean": 12.5, "stddev": 0.5, "min": 12, "max": 13}) == "12.5 ± 0.50"
    assert mean_text("stranded:cpu", {"mean": 1413300, "stddev": 63600}) == "1,413 ± 63.6 cores"
    assert mean_text("requested_share:cpu:mean", {"mean": 0.5, "stddev": 0.01}) == "50 ± 1%"
    assert mean_text("requested_share:cpu:mean", {"mean": 0.5, "stddev": 0.000001}) == "50%"
    assert plotted("stranded:memory", 1 << 30) == 1
    assert plotted_title("stranded:cpu") == "Stranded cpu, cores<br>(lower is better)"


def test_labels_of_points_are_within_the_plot_with_its_error_bars() -> None:
    def sides(*points: ChartPoint) -> list[str]:
        (trace,) = experiment_charts.scatter(points, range(len(points)), "x", "y")["data"]
        return [side.removeprefix("top ") for side in trace["textposition"]]

    assert sides(ChartPoint("a", 0, 0), ChartPoint("b", 2, 1)) == ["right", "left"]
    assert sides(ChartPoint("a", 0, 0), ChartPoint("b", 2, 1, (2.0, 0.0))) == ["right", "center"]
