"""Forms of a written lesson: they change only the edited fields, and keep what they do not show."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from kubesched_ui.lessons import catalog, lesson_source, parser, step_fields, written_lessons
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.lessons.step_fields import StepFields
from kubesched_ui.models import WrittenLesson
from kubesched_ui.scenarios.uploads import store_upload
from kubesched_ui.views.lesson_editor import version_of
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.pages import get

ODD = """---
# by hand
title: 'An odd one'  # two words
summary: &s Odd.
steps:
- title: First
  # why
  focus: {pod: web, point: filter}
  ask: {kind: number, of: "1 + 1", options: {}}

- title: >-
    Second
    step
  holds: ['true']
# the end
---

## First

Text.


### Revealed

Two.
## Second step

~~~
## x
~~~
"""


def form_data(fields: StepFields) -> QueryDict:
    """Return the data of a form as a browser sends it."""
    form = QueryDict(mutable=True)
    for name in fields.__dataclass_fields__:
        if name not in ("options", "mistakes"):
            form[name] = getattr(fields, name).replace("\n", "\r\n")
    for names, rows in (
        ("option_text option_if option_kind option_say", [*fields.options, ("", "", "", "")]),
        ("mistake_is mistake_say", fields.mistakes),
    ):
        for row in rows:
            for name, text in zip(names.split(), row, strict=True):
                form.appendlist(name, text)
    return form


def test_every_step_of_all_lessons_is_unchanged_by_the_form() -> None:
    """Steps with a moving picture, which the form does not show, have none."""
    moving = 0
    for path in catalog.paths()[::5]:
        text, _, _ = written_lessons.separated(path.read_bytes())
        source, steps = lesson_source.split(text), parser.read(path).head.steps
        assert source.text == text
        shown = {number: step_fields.fields_of(source, number) for number in range(1, len(steps) + 1)}
        for number, fields in shown.items():
            assert (fields is None) == (steps[number - 1].picture is not None)
            moving += fields is None
            if fields is not None:
                assert step_fields.posted(form_data(fields)) == fields
                assert step_fields.problems(fields) == []
                step_fields.apply(source, number, fields)
        assert source.text == text, "nothing changed"
        for number, fields in shown.items():
            if fields is not None:
                source.set_item(number, step_fields.value_of(fields))
                source.steps[number - 1].section = [*step_fields.section_of(fields), ""]
        assert parser.parsed("x", source.text.encode(), {}).head.steps == steps
    assert moving


def test_fields_that_the_form_does_not_show_are_kept() -> None:
    source = lesson_source.split(ODD.replace("~~~", "```"))
    assert [step_fields.fields_of(source, number) is None for number in (1, 2)] == [True, False]
    assert [source.editable(name) for name in ("title", "summary", "lights")] == [False, False, True]
    fields = step_fields.fields_of(source, 2)
    assert fields is not None
    step_fields.apply(source, 2, replace(fields, title="Other", kind="lands", pod="web"))
    source.set_head("lights", ["filter"])
    text = source.text
    for kept in (
        "# by hand",
        "# two words",
        "&s Odd.",
        "# why",
        "# the end",
        'of: "1 + 1", options: {}',
        "Text.\n\n\n###",
    ):
        assert kept in text
    changed = parser.parsed("x", text.encode(), {})
    assert (changed.head.lights, changed.head.steps[1].title) == (["filter"], "Other")
    assert changed.sections[1].before.text == "```\n## x\n```"
    source.steps.reverse()
    assert [step.title for step in parser.parsed("x", source.text.encode(), {}).head.steps] == ["Other", "First"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x", 1),
        ("---\na: [\n---\n", 3),
        ("---\n{steps: []}\n---\n", 2),
        ("---\ntitle: x\n---\n", 2),
        ("---\ntitle: x\nsteps: [{title: a}]\n---\n\n## a\n", 3),
        ("---\nsteps:\n  -\n    title: a\n---\n\n## a\n", 3),
        ("---\nsteps:\n  - title: a\n---\n\n## b\n", 6),
        ("---\nsteps:\n  - 5\n---\n\n## b\n", 6),
        ("---\nsteps:\n  - title: a\n---\n", 5),
        ('---\ntitle: x\nsummary: "a\u2028b"\nsteps:\n  - title: a\n---\n\n## a\n', 3),
        ("---\nsteps: &a [*a]\n---\n", 2),
        ("---\nsteps: " + "[" * 5000 + "\n---\n", 2),
    ],
)
def test_other_texts_are_edited_as_markdown(text: str, line: int) -> None:
    with pytest.raises(LessonError) as problem:
        lesson_source.split(text)
    assert problem.value.line == line


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": ""}, "Title: must not be empty"),
        ({"attempt": "0"}, "Attempt: must be a whole number"),
        ({"kind": "guess"}, "Kind of question: 'guess' is not one of passes,"),
        ({"before": "a\n\n## b"}, "Text, line 3: a heading with ##"),
        ({"before": "### Revealed"}, "Text, line 1: write what follows"),
        ({"after": "a\n```\nb"}, "After the answer, line 2: this block of code"),
        ({"options": (("", "1", "", ""),)}, "Options: option 1 must have a text"),
        ({"options": (("a", "1", "", ""), ("a", "2", "", ""))}, "Options: option 2 must have a text"),
        ({"solution_value": "1"}, "Field of the solution: must be one of the fields"),
    ],
)
def test_errors_name_field_and_line(changes: dict[str, Any], message: str) -> None:
    found = [str(one) for one in step_fields.problems(replace(StepFields(title="A"), **changes))]
    assert len(found) == 1
    assert found[0].startswith(message)


# ---- pages


@pytest.fixture
def written(db: None) -> WrittenLesson:
    cluster = as_list(node("n1", cpu="1"), node("n2", cpu="8"), pod("web", cpu="4"))
    return written_lessons.create(store_upload([("c.json", cluster)], "A shop").scenario)


def post(client: Client, written: WrittenLesson, do: str = "save", number: int = 1, **values: Any) -> Any:
    written.refresh_from_db()
    source, form = lesson_source.split(written.text), QueryDict(mutable=True)
    if number:
        fields = step_fields.fields_of(source, number)
        assert fields is not None
        form = form_data(fields)
    form.update({"version": version_of(written), "step": number, "do": do})
    for name, value in values.items():
        form[name] = value
    answer = client.post(
        reverse("written-edit", args=[written.pk]),
        form.urlencode(),
        content_type="application/x-www-form-urlencoded",
    )
    written.refresh_from_db()
    return answer


def titles(written: WrittenLesson) -> list[str]:
    return [step.title for step in parser.parsed("x", written.text.encode(), {}).head.steps]


def test_steps_are_added_moved_and_deleted(client: Client, written: WrittenLesson) -> None:
    before = written.text
    assert post(client, written).status_code == 302
    assert written.text == before
    assert post(client, written, "add", title="One", before="Some text.").headers["Location"].endswith("?step=2")
    assert post(client, written, "break", 2, title="Two").headers["Location"].endswith("?step=3")
    assert titles(written) == ["One", "Two", "Now break it"]
    assert post(client, written, "up", 3).headers["Location"].endswith("?step=2")
    assert post(client, written, "down", 1).headers["Location"].endswith("?step=2")
    assert titles(written) == ["Now break it", "One", "Two"]
    assert post(client, written, "delete", 3, title="").headers["Location"].endswith("?step=2")
    assert titles(written) == ["Now break it", "One"]
    assert post(client, written, "go:1", 2, title="Uno").headers["Location"].endswith("?step=1")
    assert titles(written) == ["Now break it", "Uno"]
    page = client.get(reverse("written-check", args=[written.pk])).content.decode()
    assert "No problems" in page, page
    post(client, written, "delete", 1)
    assert post(client, written, "delete", 1).status_code == 302
    assert titles(written) == ["Uno"], "one step stays"


def test_fields_of_the_lesson_are_edited(client: Client, written: WrittenLesson) -> None:
    post(client, written, number=0, title="T: new", summary="S", lights="queue", runs="old: {release: '1.30'}")
    head = parser.parsed("x", written.text.encode(), {}).head
    assert (head.title, head.lights, head.runs["old"].release) == ("T: new", ["queue"], "1.30")
    assert written.name == "T: new"
    assert 'value="old"' in get(client, f"/lessons/{written.pk}/edit/?step=1").source
    refused = post(client, written, number=0, title="", summary="S")
    assert "Title: must not be empty" in refused.content.decode()
    refused = post(client, written, number=0, title="T", runs="a: 1\nb: [}")
    assert "Runs, line 2" in refused.content.decode()
    assert "b: [}" in refused.content.decode(), "what was typed stays"
    post(client, written, number=0, title="T", summary="", runs="")
    assert "runs" not in written.text


def test_unknown_values_of_the_front_matter_are_kept(client: Client, written: WrittenLesson) -> None:
    odd = written.text.replace("lights: [filter]", "lights: [{a: b}, gone]").replace("title: A", "title: 5 # A", 1)
    for text in (odd, odd.replace("[{a: b}, gone]", "{a: b}"), odd.replace("[{a: b}, gone]", "5")):
        written_lessons.save(written, text)
        page = get(client, f"/lessons/{written.pk}/edit/?step=0").source
        assert "title, lights: written with" in " ".join(page.split())
        assert post(client, written, number=0, title="6", summary="New").status_code == 302
        assert written.text == text.replace("What this lesson is about.", "New")


def test_rejected_input_is_kept_on_the_page(client: Client, written: WrittenLesson) -> None:
    before = written.text
    refused = post(client, written, before="Mine\n## Other", hint="<b>")
    page = refused.content.decode()
    assert refused.status_code == 400
    assert "Step 1, Text, line 2: a heading" in page
    assert "Mine\n## Other" in page
    assert "&lt;b&gt;" in page
    assert written.text == before
    refused = post(client, written, before="x" * 70_000)
    assert "the maximum is 60,000" in refused.content.decode()
    assert written.text == before
    refused = post(client, written, version="old", title="Mine, too")
    assert refused.status_code == 409
    assert "has changed since" in refused.content.decode()
    assert "Mine, too" in refused.content.decode()
    assert written.text == before


def test_a_step_that_the_form_does_not_support_is_edited_as_markdown(client: Client, written: WrittenLesson) -> None:
    written_lessons.save(
        written, written.text.replace("  - title: The first step\n", "  - title: The first step\n    # why\n")
    )
    address = reverse("written-edit", args=[written.pk])
    page = client.get(address).content.decode()
    item = re.search(r'name="item"[^>]*>([^<]*)<', page)
    assert item
    assert "# why" in item[1]
    form = {"version": version_of(written), "step": 1, "do": "add", "section": "## New\r\n\r\nText."}
    made = client.post(address, form | {"item": "  - title: New # why\r\n"})
    assert made.headers["Location"].endswith("?step=2")
    written.refresh_from_db()
    assert titles(written) == ["New", "Another step"]
    assert "# why" in written.text
    form["version"] = version_of(written)
    refused = client.post(address, form | {"item": "  - title: ["})
    assert refused.status_code == 400
    assert "- title: [" in refused.content.decode()
    refused = client.post(address, form | {"item": "  - title: New\n  - title: B\n", "section": "## New\n## B"})
    assert "must be of one step" in refused.content.decode()


def test_a_text_that_forms_do_not_support_gives_a_reason(client: Client, written: WrittenLesson) -> None:
    written_lessons.save(written, written.text.replace("## The first step", "## Another"))
    page = get(client, f"/lessons/{written.pk}/edit/").source
    assert "The forms cannot edit this text. Line 13: step 1 must have the same title" in " ".join(page.split())
    assert 'name="text"' in page
    assert "Edit with forms" not in page


def test_the_preview_has_one_step(client: Client, written: WrittenLesson) -> None:
    post(client, written, "add")
    check = reverse("written-check", args=[written.pk])
    assert client.get(check).content.decode().count("printed-step") == 2
    page = client.get(check, {"step": 2}).content.decode()
    assert page.count("printed-step") == 1
    assert "2. Another step" in page
