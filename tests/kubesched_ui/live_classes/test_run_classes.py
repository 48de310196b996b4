"""Live class on a run: students see the page that the teacher shows, without controls."""

import re

import pytest
from django.urls import reverse

from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.live_classes import impersonated_view
from kubesched_ui.live_classes.models import LiveClass
from kubesched_ui.models import Run
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.live_classes.conftest import browser, opened_on_run
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return ran(scenario(node("n1"), node("n2"), pod("a"), pod("big", cpu="64")))


def test_a_run_page_links_to_a_live_class(run: Run) -> None:
    assert reverse("run-class", args=[run.pk]) in browser().get(reverse("run", args=[run.pk])).content.decode()


def test_students_see_the_page_that_the_teacher_shows(run: Run) -> None:
    live_class = opened_on_run(run)
    ada = live_class.join("Ada")
    page = live_class.page(ada)
    assert "default/big" in page
    for never in ("Fork with any change", "What if", "Rename", "Run again"):  # students cannot change anything
        assert never not in page
    shown = f"/runs/{run.pk}/pods/default/big/?point=filter&plugin=NodeResourcesFit"
    assert live_class.move(address=f"http://localhost{shown}").status_code == 302
    part = live_class.part(ada)
    assert (part["address"], part["version"]) == (shown.replace("http://localhost", ""), 2)
    html = part["parts"]["run"]
    assert "Insufficient cpu" in html
    assert f'href="/runs/{run.pk}/pods/default/big/?' in html, "links lead on from the run's page, not the class's"
    for never in ("<form", "<script", "csrfmiddlewaretoken", "data-load", "<button", "Delete"):
        assert never not in html
    assert 'class="from"' in html, "verdicts stay"
    teacher = live_class.teacher_page()
    assert "Insufficient cpu" in teacher
    assert "Ada" in teacher


@pytest.mark.parametrize(
    "address",
    ["", "x", "/", "/runs/", "/runs/999999/", "//evil.example/runs/{n}/", "javascript:alert(1)", "/runs/{n}/delete/",
     "/runs/{n}/export/", "/api/runs/{n}", "/runs/{n}/?q=\u0000", "/runs/{n}/" + "?q=" + "x" * 3000, "http://[::1/"],
)  # fmt: skip
def test_only_pages_of_the_run_are_shown(run: Run, address: str) -> None:
    live_class = opened_on_run(run, f"/runs/{run.pk}/pods/default/a/")
    response = live_class.move(address=address.replace("{n}", str(run.pk)))
    assert response.status_code in (302, 400)
    assert live_class.row.address in (f"/runs/{run.pk}/pods/default/a/", f"/runs/{run.pk}/")


def test_the_page_of_a_pod_has_its_styles_in_a_class(run: Run) -> None:
    own = browser().get(f"/runs/{run.pk}/pods/default/a/").content.decode()
    ada = opened_on_run(run, f"/runs/{run.pk}/pods/default/a/").join("Ada")
    shown = ada.get(reverse("join-class", args=[LiveClass.objects.get().code])).content.decode()
    assert "pod-timeline" in shown
    for style in ("cycle", "pod_timeline"):
        assert f"css/{style}." in own
        assert f"css/{style}." in shown


def test_a_missing_page_shows_a_message(run: Run) -> None:
    live_class = opened_on_run(run)
    ada = live_class.join("Ada")
    live_class.move(address=f"/runs/{run.pk}/pods/default/none/")
    page = ada.get(reverse("join-class", args=[live_class.row.code]))
    assert page.status_code == 200
    assert "has no pod default/none" in page.content.decode()
    live_class.move(address=f"/runs/{run.pk}/")
    assert ada.get(reverse("join-class", args=[live_class.row.code])).status_code == 200


def test_a_run_has_no_questions_or_steps(run: Run) -> None:
    live_class = opened_on_run(run)
    ada = live_class.join("Ada")
    assert live_class.answer(ada, 1, ["n1"]).status_code == 404
    assert live_class.move(step=1).status_code == 404
    assert live_class.move(reveal=1).status_code == 404
    for address in ("live-class-results", "live-class-answers"):
        assert live_class.teacher.get(reverse(address, args=[live_class.key])).status_code == 404
    live_class.move(close=1)
    assert ada.get(reverse("join-class", args=[live_class.row.code])).status_code == 410
    assert "This class is closed" in live_class.teacher_page()


def test_a_class_is_deleted_with_its_run(run: Run) -> None:
    opened_on_run(run)
    run.delete()
    assert LiveClass.objects.count() == 0


def test_students_see_the_cluster_and_suggested_fixes(run: Run) -> None:
    live_class = opened_on_run(run, f"/runs/{run.pk}/pods/default/big/")
    ada = live_class.join("Ada")
    for page in (live_class.page(ada), live_class.teacher_page()):
        assert 'id="t-live-class-map"' in page
        assert page.count('class="capacity-bar out"') == 2
        assert "What places it" in page
        assert "Simulating fixes" not in page
    parts = live_class.part(ada)["parts"]
    assert set(parts) == {"run", "map", "why"}
    for never in ("<form", "<script", "<button", "Fork", "data-load", "Try it"):
        assert never not in "".join(parts.values())
    live_class.move(address=f"/runs/{run.pk}/")
    parts = live_class.part(ada)["parts"]
    assert set(parts) - {"together"} == {"run", "map"}  # without the fixes if all are stored
    assert "The cluster at the end" in parts["map"]
    live_class.move(address=f"/runs/{run.pk}/pods/default/a/")
    assert 'class="capacity-bar chosen"' in live_class.part(ada)["parts"]["map"]
    assert "pod-map" not in live_class.page(ada), "a class has its own map"


def test_the_class_moves_to_the_attempts_before_and_after(run: Run) -> None:
    live_class = opened_on_run(run)
    ada = live_class.join("Ada")
    base = f"/runs/{run.pk}/"
    part = live_class.part(ada)
    assert (part["before"], part["after"], part["at"]) == (f"{base}?cycle=2", "", "The end of the run")
    page = live_class.teacher_page()
    assert re.findall(r'data-to="(\w+)"[^>]*\sdisabled', page) == ["after"]
    for _ in range(2):  # repeated requests move once
        live_class.move(address=f"{base}?cycle=2")
    part = live_class.part(ada)
    assert (part["version"], part["before"], part["after"]) == (2, f"{base}?cycle=1", f"{base}?cycle=3")
    assert "Cycle 2 of 2" in part["parts"]["map"]
    live_class.move(address=f"{base}?cycle=1")
    assert live_class.part(ada)["before"] == ""
    for odd in ("?cycle=99", "?cycle=0", "?cycle=-1", "?cycle=x", "?t=5", "?seq=1", "?cycle=" + "9" * 40):
        live_class.move(address=f"{base}{odd}")
        assert live_class.part(ada)["before"] in ("", f"{base}?cycle=1", f"{base}?cycle=2")
    live_class.move(address=f"{base}pods/default/a/?point=score&attempt=1&node=n1")
    part = live_class.part(ada)
    assert (part["before"], part["after"], part["at"]) == ("", "", "default/a: attempt 1 of 1")


def test_the_class_moves_to_the_attempts_of_a_pod() -> None:
    waits = pod("late", cpu="3")
    run = ran(scenario(node("n1"), pod("a", cpu="3"), waits), in_time=True, until=120)
    numbers = list(run.cycles.filter(name="late").order_by("number").values_list("number", flat=True))
    base = f"/runs/{run.pk}/pods/default/late/"
    live_class = opened_on_run(run, f"{base}?cycle={numbers[0]}&point=filter")
    part = live_class.part(live_class.join("Ada"))
    assert part["before"] == ""
    assert part["after"] == (f"{base}?point=filter&cycle={numbers[1]}" if len(numbers) > 1 else "")
    assert part["at"] == f"default/late: attempt 1 of {len(numbers)}"
    opened_at = opened_on_run(run, f"/runs/{run.pk}/?t=0")
    part = opened_at.part(opened_at.join("Bob"))
    assert part["after"].startswith(f"/runs/{run.pk}/?cycle=")


POINTS = ("preenqueue", "prefilter", "filter", "postfilter", "score", "permit", "bind")
CONTROLS = re.compile(r"<(?:form|script|noscript|dialog|button|input|select|textarea|html)\b|data-load=|href=\"[?#]")


@pytest.mark.long
@pytest.mark.parametrize(
    ("sample", "in_time"), [("10-preemption", False), ("16-preemption-in-time", True), ("19-devices", False),
                            ("20-pod-group", False)],
)  # fmt: skip
def test_pages_of_a_class_have_no_controls(sample: str, in_time: bool) -> None:
    path = FOLDER / f"{sample}.yaml"
    run = ran(store(ingest_files([(path.name, path.read_bytes())])), in_time=in_time)
    cycles = list(run.cycles.order_by("number")[:4])
    pods = [reverse("pod", args=[run.pk, row.namespace, row.name]) for row in cycles]
    groups = [reverse("group", args=[run.pk, row.namespace, row.name]) for row in run.group_cycles.all()[:1]]
    nodes = [reverse("node", args=[run.pk, name]) for name in run.node_names[:1]]
    objects = [f"{reverse('run-object', args=[run.pk])}?kind=Node&name={name}" for name in run.node_names[:1]]
    pages = [
        f"{page}?cycle={row.number}&point={point}" for page, row in zip(pods, cycles, strict=True) for point in POINTS
    ]
    pages += [reverse("run", args=[run.pk]), *groups, *nodes, *objects]
    pages += [f"{pods[0]}why/?node={run.node_names[0]}", f"{reverse('run', args=[run.pk])}together/"]
    for address in pages:
        html = impersonated_view.page(address, impersonated_view.ReadOnlyViewer(None)).html
        assert html.strip()
        assert not CONTROLS.search(html), (address, CONTROLS.search(html))
