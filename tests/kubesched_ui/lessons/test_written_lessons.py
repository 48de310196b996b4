"""Lessons written by users: text, problems, file, and embedding in other sites."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kubesched_ui.housekeeping import quota, retention
from kubesched_ui.lessons import decisive_fields, lint, parser, written_lessons
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.models import ClusterObject, ClusterTable, Scenario, WrittenLesson
from kubesched_ui.runtime import env
from kubesched_ui.scenarios.uploads import store_upload
from kubesched_ui.views import lesson_editor
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.lessons.test_lessons import AVOIDED

pytestmark = pytest.mark.django_db
SITE = "https://wiki.example.com"


@pytest.fixture
def written() -> WrittenLesson:
    cluster = as_list(node("n1", cpu="1"), node("n2", cpu="8"), pod("web", cpu="4"))
    return written_lessons.create(store_upload([("c.json", cluster)], "A shop").scenario)


def save(client: Client, written: WrittenLesson, text: str) -> Any:
    return client.post(reverse("written-edit", args=[written.pk]), {"text": text})


def problems(client: Client, written: WrittenLesson) -> str:
    page = client.get(reverse("written-check", args=[written.pk])).content.decode()
    shown = page.partition('id="t-problems"')[2].partition("</section>")[0]
    return " ".join(re.sub(r"<(?!/a>)[^>]*>", "", shown).split()).replace(" </a>", "</a>")


def test_a_new_lesson_works(client: Client, written: WrittenLesson) -> None:
    assert "No problems" in problems(client, written)
    address = reverse("written-step", args=[written.pk, 1])
    assert 'id="revealed"' not in client.get(address).content.decode()
    wrong = client.get(address, {"check": "1", "answer": "n1"}).content.decode()
    assert "Not correct" in wrong
    assert 'id="revealed"' not in wrong
    right = client.get(address, {"check": "1", "answer": "n2"}).content.decode()
    assert "data-right" in right
    assert 'id="revealed"' in client.get(address, {"reveal": "1"}).content.decode()
    assert "The answer" in client.get(reverse("written-print", args=[written.pk]), {"answers": "1"}).content.decode()
    assert "The answer" not in client.get(reverse("written-print", args=[written.pk])).content.decode()
    assert written.name in client.get(reverse("learn")).content.decode()


def test_the_exported_file_is_a_valid_lesson(client: Client, written: WrittenLesson) -> None:
    data = client.get(reverse("written-export", args=[written.pk])).content
    lesson = Lesson(parser.parsed("small", data))
    assert lint.check_lesson(lesson).questions == 1
    sent = {"file": SimpleUploadedFile("small.md", data)}
    page = client.post(reverse("written-import"), sent)
    again = WrittenLesson.objects.latest("pk")
    assert page.headers["Location"] == reverse("written-edit", args=[again.pk])
    assert again.text == written.text
    assert list(again.scenario.objects_of()) == list(written.scenario.objects_of())
    assert client.get(reverse("written-export", args=[again.pk])).content.decode().count("scenario:") == 1


def test_lessons_of_the_product_can_be_imported() -> None:
    for path in sorted((parser.Path(parser.__file__).parent / "content").glob("*.md"))[::6]:
        text, _, document = written_lessons.separated(path.read_bytes())
        assert "\nscenario:" not in text.partition("\n---\n")[0]
        assert parser.parsed("x", text.encode(), {}).head.steps == parser.read(path).head.steps
        assert b"Scenario" in document


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{{ count(nodes()) }}", "7", "Step 1</a>, Text, line 1: &#x27;7&#x27; is not computed"),
        ("kind: lands", "kind: guess", "Step 1</a>, Kind of question: Invalid enum value"),
        ("pod: web", "pod: other", "Step 1</a>, Focus: the run never tried pod"),
        ('node_of("web")', "().__class__", "Attribute, which expressions do not allow"),
        ('node_of("web")', "9 ** 9 ** 9", "Pow, which expressions do not allow"),
        ("lights:", "scenario: 01-fit\nlights:", "scenario: is stored separately; remove it Line 4 of the Markdown"),
        ("steps:", "runs: {run: {extender: {}}}\nsteps:", "must not have `extender`"),
        (
            "steps:",
            "runs: {run: {scenario: {objects: []}}, other: {scenario: {until: 5}}}\nsteps:",
            "must not have `extender`",
        ),
        ("---\n", "", "must begin with a head in YAML"),
    ],
)
def test_problems_are_listed_and_the_text_is_kept(
    client: Client, written: WrittenLesson, old: str, new: str, message: str
) -> None:
    assert old in written.text
    text = written.text.replace(old, new)
    assert save(client, written, text).status_code == 302
    assert message in problems(client, written)
    page = client.get(f"{reverse('written-edit', args=[written.pk])}?as=markdown").content.decode()
    assert html.escape(new) in page
    assert client.get(reverse("written-lesson", args=[written.pk])).status_code in (200, 404)


def test_hidden_fields_are_searched_in_parts(
    client: Client, written: WrittenLesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson_editor, "SEARCH_SECONDS", 600)
    address = reverse("written-search", args=[written.pk])
    page = client.get(address).content.decode()
    assert f'data-search="{address}"' in client.get(reverse("written-check", args=[written.pk])).content.decode()
    assert "is complete" in page
    assert "data-found" not in page
    monkeypatch.setattr(lesson_editor, "SEARCH_SECONDS", 0)
    total = decisive_fields.search(written_lessons.lesson_of(written), 0, 9).total
    page = client.get(address, {"from": 2}).content.decode()
    assert f"3 of {total} fields searched" in page
    assert "?from=3" in page
    assert "is complete" in client.get(address, {"from": total + 5}).content.decode()
    save(client, written, written.text.replace("pod: web", "pod: other"))
    assert client.get(address).status_code == 404


def test_the_search_names_step_and_field(client: Client) -> None:
    written = written_lessons.imported(AVOIDED.encode())
    page = client.get(reverse("written-search", args=[written.pk])).content.decode()
    assert page.count("data-found") == 2
    assert '?step=1">Step 1</a>, Question: no page' in " ".join(page.split())
    assert "Pod old spec.affinity" in page


def test_the_page_names_kinds_pods_and_nodes(client: Client, written: WrittenLesson) -> None:
    page = client.get(f"{reverse('written-edit', args=[written.pk])}?as=markdown").content.decode()
    shown = re.findall(r"<dt[^>]*>(.*?)</dt>", page)
    assert shown == [*parser.Kind.__args__, "Pods", "Nodes"]
    assert "n1, n2" in page


def test_all_problems_are_listed(client: Client, written: WrittenLesson) -> None:
    second = "  - title: Another\n---\n"
    text = written.text.replace("summary: What", "summary: 3 What").replace("\n---\n", f"\n{second}", 1)
    save(client, written, f"{text}\n## Another\n\nIt has 5 nodes.\n")
    assert "2 problems" in problems(client, written)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "[x](javascript:alert(1))", "![i](http://x/y.png)"])
def test_hostile_texts_are_escaped(client: Client, written: WrittenLesson, text: str) -> None:
    save(client, written, written.text.replace("What this lesson is about.", f"'{text}'").replace("The cluster", text))
    for name in ("written-check", "written-lesson", "written-print"):
        page = client.get(reverse(name, args=[written.pk])).content.decode()
        assert "<script>alert" not in page
        assert 'href="javascript' not in page
        assert "<img" not in page


def test_sizes_are_bounded(client: Client, written: WrittenLesson, monkeypatch: pytest.MonkeyPatch) -> None:
    page = save(client, written, "x" * (written_lessons.MAX_TEXT + 1))
    assert page.status_code == 400
    assert "the maximum is 60,000" in page.content.decode()
    save(client, written, "{{ " * 15_000)  # unclosed braces do not need quadratic time
    assert "must begin with a head" in problems(client, written)
    monkeypatch.setattr(written_lessons, "MAX_OBJECTS", 2)
    page = client.post(reverse("written-new", args=[written.scenario_id]), follow=True)
    assert "has 3 objects; a lesson has at most 2" in page.content.decode()
    for data in (b"", b"\xff\xfe", b"---\n---\n", b"x" * 300_000):
        page = client.post(reverse("written-import"), {"file": SimpleUploadedFile("l.md", data)}, follow=True)
        assert page.status_code == 200
        assert "notice bad" in page.content.decode()
    assert WrittenLesson.objects.count() == 1


def test_a_lesson_is_deleted_with_its_scenario(written: WrittenLesson, settings: Any) -> None:
    scenario = written.scenario
    assert quota.parts(Scenario) == {ClusterObject: "scenario", ClusterTable: "scenario", WrittenLesson: "scenario"}
    before = quota.measure(scenario)
    written_lessons.save(written, written.text + "x" * 500)
    assert quota.measure(scenario) == before + 500
    settings.KEEP_DAYS = 10
    Scenario.objects.filter(pk=scenario.pk).update(created_at=timezone.now() - timedelta(days=99))
    retention.store_periods()
    retention.Retention.objects.update(since=timezone.now() - timedelta(days=99))
    assert retention.sweep() == 0, "the lesson was changed just now"
    WrittenLesson.objects.update(updated_at=timezone.now() - timedelta(days=99))
    assert retention.sweep() == 1
    assert not WrittenLesson.objects.exists()
    settings.QUOTA_SCENARIOS = 1
    other = store_upload([("c.json", as_list(node("n1")))]).scenario
    written_lessons.create(other)
    with pytest.raises(quota.OverQuota, match="1 of 1 lessons"):
        written_lessons.create(other)


def frames(response: Any) -> tuple[str, str]:
    policy = re.search(r"frame-ancestors ([^;]*)", response.headers["Content-Security-Policy"])
    assert policy
    return policy[1], response.headers.get("X-Frame-Options", "")


def test_only_listed_sites_embed_lessons(client: Client, written: WrittenLesson, settings: Any) -> None:
    lesson = reverse("written-lesson", args=[written.pk])
    edit = reverse("written-edit", args=[written.pk])
    course = reverse("lesson-step", args=["requests-and-allocatable", 1])
    assert {frames(client.get(page)) for page in (lesson, edit, course, "/learn/")} == {("'none'", "DENY")}
    assert client.post(reverse("written-embed", args=[written.pk])).status_code == 404
    settings.EMBED_ORIGINS = [SITE]
    assert {frames(client.get(page)) for page in (lesson, course)} == {(SITE, "")}
    assert {frames(client.get(page)) for page in (edit, "/learn/")} == {("'none'", "DENY")}
    html = client.post(reverse("written-embed", args=[written.pk])).content.decode()
    assert f"{lesson}?embed=1" in html
    framed = client.get(f"{lesson}?embed=1").content.decode()
    assert "in-frame" in framed
    assert 'name="embed" value="1"' in framed
    without_cookies = Client(headers={"host": "localhost"}, enforce_csrf_checks=True)
    assert without_cookies.post(course, {"reveal": "1"}).status_code == 200


@pytest.mark.parametrize("wrong", ["*", "wiki.example.com", "https://a.example.com; script-src *", "'self'", "data:"])
def test_the_setting_accepts_origins(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("KUBESCHED_EMBED_ORIGINS", f"{SITE}, https://*.example.org:8443")
    assert env.origins("EMBED_ORIGINS") == [SITE, "https://*.example.org:8443"]
    monkeypatch.setenv("KUBESCHED_EMBED_ORIGINS", wrong)
    with pytest.raises(env.InvalidEnvironment, match="KUBESCHED_EMBED_ORIGINS must be origins"):
        env.origins("EMBED_ORIGINS")
