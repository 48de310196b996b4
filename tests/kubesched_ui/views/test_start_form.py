"""Start form of a run after an error: input is kept, the error is at its field, no run starts."""

import html
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from kubesched_ui.ingest import ingest_files
from kubesched_ui.models import Run, Scenario
from tests.kubesched_ui.recordings import node, pod, scenario

pytestmark = pytest.mark.django_db

TYPED = {
    "which": "template", "template": "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c}]}}",
    "copies": "7", "mode": "time", "until": "45m", "release": "1.27", "tie_break": "name", "seed": "11",
    "percentage": "40",
    "config": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", "name": "mine",
    "unbind": "default/runs",
}  # fmt: skip


@pytest.fixture
def stored() -> Scenario:
    return scenario(node("n1"), pod("runs", nodeName="n1", status={"phase": "Running"}), pod("taken-2"))


def post(client: Client, stored: Scenario, **fields: Any) -> tuple[int, str]:
    response = client.post(f"/scenarios/{stored.pk}/run/", TYPED | fields)
    return response.status_code, re.sub(r"\s+", " ", html.unescape(response.content.decode()))


def template(text: str) -> dict[str, str]:
    return {"template": text}


def spec(text: str) -> dict[str, str]:
    return template(f"{{kind: Pod, metadata: {{name: web}}, spec: {{containers: [{{name: c}}], {text}}}}}")


@pytest.mark.parametrize(
    ("fields", "at", "message"),
    [
        ({"config": "kind: KubeSchedulerConfiguration\nprofiles: 3"}, "config", "KubeSchedulerConfiguration"),
        ({"seed": "x"}, "seed", "whole number"),
        ({"until": "soon"}, "until", "not a duration"),
        ({"until": "0"}, "until", "more than 0"),
        ({"config": "a: ["}, "config", "is not valid YAML"),
        ({"strategy": "Most"}, "config", "strategy: must be one of LeastAllocated"),
        ({"weight.ImageLocality": "x"}, "config", "weight.ImageLocality: must be a whole number"),
        ({"percentage": "101"}, "percentage", "100"),
        ({"release": "9.99"}, "release", "9.99"),
        ({"which": "unbind", "unbind": ""}, "unbind", "Select at least one pod"),
        ({"which": "unbind", "unbind": "default/nobody"}, "unbind", "default/nobody"),
        (template(""), "template", "Enter a pod"),
        (template("kind: Node"), "template", "must be one object of kind Pod"),
        (spec("overhead: {cpu: lots}"), "template", "overhead"),
        (spec("tolerations: [{operator: Maybe}]"), "template", "'Maybe' is not one of Exists, Equal"),
        (spec("topologySpreadConstraints: [{maxSkew: 0, topologyKey: z}]"), "template", "maxSkew"),
        (spec("schedulerName: other"), "template", "no profile is named 'other'"),
        (
            template("{kind: Pod, metadata: {name: We_b}, spec: {}}"),
            "template",
            "a name consists of lower case letters",
        ),
        (template("{kind: Pod, metadata: {name: web, namespace: A B}, spec: {}}"), "template", "not a valid namespace"),
        *(
            (template(f"{{kind: Pod, metadata: {{name: {name}}}, spec: {{}}}}"), "template", "metadata.name: ")
            for name in ("../x", "..", "a/b", "a%2Fb", "-a", "a" * 260)
        ),
        (template("{kind: Pod, metadata: {generateName: ../x-}, spec: {}}"), "template", "metadata.name: "),
        *(
            (template(f"{{metadata: {{name: x, namespace: {text}}}, spec: {{}}}}"), "template", "metadata.namespace: ")
            for text in ("a/b", "..", "a.b", "a" * 64)
        ),
        (template("{kind: Pod, metadata: {name: taken}, spec: {}}"), "template", "already has a pod default/taken-2"),
        (template("{kind: Pod, metadata: {name: web}, spec: {containers: 3}}"), "template", "containers"),
    ],
)
def test_an_error_is_at_its_field_and_input_is_kept(
    client: Client, stored: Scenario, fields: dict[str, str], at: str, message: str
) -> None:
    status, page = post(client, stored, **fields)
    assert status == 400
    assert not Run.objects.exists()
    error = re.search(rf'id="id_{at}_error">(.*?)</ul>', page)
    assert error
    assert message in error[1]
    assert page.count('aria-invalid="true"') == page.count("autofocus") - 1 == 1  # one more is in the dialog
    assert re.search(rf'name="{at}"[^>]*aria-describedby="id_{at}_error"', page)
    sent = TYPED | fields
    for name in ("template", "config", "unbind"):
        found = re.search(rf'<textarea[^>]*name="{name}"[^>]*>(.*?)</textarea>', page)
        assert found
        assert found[1].split() == sent[name].split()
    for name in ("copies", "until", "seed", "percentage", "name"):
        tag = re.search(rf'<input id="{name}"[^>]*>', page)
        assert tag
        assert f'value="{sent[name]}"' in tag[0], name
    for name in ("release", "tie_break"):
        assert f'<option value="{sent[name]}" selected>' in page or name == at
    for name in ("which", "mode"):
        assert re.search(rf'name="{name}" value="{sent[name]}" checked', page)
    assert not re.search(r'name="preemption" checked', page)  # the box was not checked
    if at == "config":
        assert re.search(r"<details open> <summary>Scheduler configuration", page)


def test_all_listed_pods_can_be_checked(client: Client, stored: Scenario) -> None:
    ticked = [f"default/p{number}" for number in range(settings.BOUND_PODS_SHOWN)]
    status, page = post(client, stored, which="unbind", unbind="", pod=ticked)
    assert status == 400
    assert "the scenario has no pod 'default/p0'" in page
    status, page = post(client, stored, which="unbind", pod=ticked * 2)
    assert status == 413
    assert "The form has more than 2,200 fields." in page


def test_without_pending_pods_the_bound_pods_are_selected(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    again = scenario(node("n1"), *(pod(name, nodeName="n1", status={"phase": "Running"}) for name in ("a", "b")))
    selected = re.compile(r'name="pod" value="(default/\w)" checked')
    address = f"/scenarios/{again.pk}/"
    assert selected.findall(client.get(address).content.decode()) == ["default/a", "default/b"]
    answer = client.post(f"{address}run/", {"which": "unbind", "pod": ["default/b"], "mode": "once", "release": "1.36"})
    assert answer.status_code == 302
    like = client.get(f"{address}?like={Run.objects.get().pk}").content.decode()
    assert selected.findall(like) == []  # the field below the list has the pods of the run
    assert ">default/b</textarea>" in like
    monkeypatch.setattr(settings, "BOUND_PODS_SHOWN", 1)  # no arbitrary part of the pods is selected
    assert selected.findall(client.get(address).content.decode()) == []


def test_checked_pods_stay_checked(client: Client, stored: Scenario) -> None:
    _, page = post(client, stored, which="unbind", pod=["default/runs"], config="a: [")
    assert re.search(r'name="pod" value="default/runs" checked', page)


def test_the_url_of_a_rejected_form_can_be_opened(client: Client, stored: Scenario) -> None:
    response = client.get(f"/scenarios/{stored.pk}/run/")
    assert response.status_code == 200
    assert b'id="startform"' in response.content
    assert client.get("/scenarios/9999/run/").status_code == 404
    assert client.get("/upload/")["Location"] == "/"


def test_unused_fields_are_not_validated(client: Client, stored: Scenario) -> None:
    status, _ = post(client, stored, which="pending", mode="once", until="soon", copies="-3")
    assert status == 302
    assert (Run.objects.get().until, Run.objects.get().copies) == (None, 0)


def test_a_misspelt_field_of_a_template_is_a_warning(client: Client, stored: Scenario) -> None:
    status, _ = post(client, stored, **spec("nodeSelectorr: {a: b}"))
    assert status == 302
    run = Run.objects.get()
    message = "Template: spec.nodeSelectorr is not a field of PodSpec; did you mean nodeSelector?"
    assert message in run.notes
    assert message in html.unescape(client.get(f"/runs/{run.pk}/").content.decode())


def test_misspelt_fields_of_an_upload_give_a_warning() -> None:
    first, second, cluster = pod("a", nodeSelectorr={}), pod("b", nodeSelectorr={}), pod("c", nodeSelectorr={})
    cluster["metadata"]["uid"] = "4711"  # from an API server, which drops unknown fields
    found = scenario(first, second, cluster, node("n1", taintz=[])).warnings
    assert [warning["message"] for warning in found if warning["code"] == "unknown-field"] == [
        "a.json, document 1, item 1 (Pod default/a): spec.nodeSelectorr: is not a field of PodSpec; "
        "did you mean nodeSelector? (2 objects have it)",
        "a.json, document 1, item 4 (Node n1): spec.taintz: is not a field of NodeSpec; did you mean taints?",
    ]


def test_samples_have_no_misspelt_field() -> None:
    from kubesched_ui.scenarios.samples import FOLDER

    for path in FOLDER.glob("*.yaml"):
        assert not [w for w in ingest_files([(path.name, path)]).warnings if w.code == "unknown-field"], path


def test_a_misspelt_field_in_the_editor_gives_a_warning(client: Client, stored: Scenario) -> None:
    obj = stored.cluster_objects.get(kind="Pod", name="taken-2")
    text = (
        "{apiVersion: v1, kind: Pod, metadata: {name: taken-2, uid: x}, spec: {nodeNam: n1, containers: [{name: c}]}}"
    )
    client.post(f"/scenarios/{stored.pk}/objects/{obj.pk}/", {"text": text})
    made = Scenario.objects.get(parent=stored)
    assert [w["field"] for w in made.warnings if w["code"] == "unknown-field"] == ["spec.nodeNam"]


def test_a_scoring_strategy_needs_no_yaml(client: Client, stored: Scenario) -> None:
    form = {"mode": "once", "strategy": "MostAllocated", "weight.ImageLocality": "9", "config": ""}
    assert post(client, stored, **form)[0] == 302
    assert {"MostAllocated", "ImageLocality ×9"} <= set(", ".join(Run.objects.get().differs).split(", "))
