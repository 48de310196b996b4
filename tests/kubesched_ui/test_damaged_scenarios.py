"""Damaged scenarios that the reader accepts run in both modes, and their pages and API open."""

import copy
import html
import json
import re
from collections import Counter
from typing import Any
from urllib.parse import unquote

import pytest
from django.test import Client
from django.urls import Resolver404, resolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.limits import Limits
from kubesched_ui.ingest.yaml_reader import documents
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios.samples import FOLDER
from tests.examples import examples
from tests.kubesched_ui.editor.sample_texts import paths
from tests.kubesched_ui.http_api import body
from tests.kubesched_ui.ingest.test_fuzz import NASTY

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

SCENARIOS = [
    json.loads(bytes(document))
    for path in sorted(FOLDER.glob("*.yaml"))
    for _, document in documents(path.read_bytes(), Where(path.name), Limits(), 0)
]
LINK = re.compile(r'(?:href|src|data-url|hx-get|data-src)="(/[^"]*)"')
OF_EACH = 2  # addresses of a kind that are opened
QUERIES = (
    "", "/pods", "/events", "/lanes", "/lanes/overview", "/moment?t=1", "/state?cycle=1", "/map", "/map/tape?after=0",
    "/find?where=attempt%3E0", "/groups", "/remedies", "/breakpoints", "/cycles/1", "/export",
    "/export?format=simulator", "/export?format=run", "/export?format=parquet",
)  # fmt: skip


@settings(max_examples=examples(10))
@given(st.sampled_from(SCENARIOS), st.data())
def test_a_damaged_scenario(document: dict[str, Any], data: st.DataObject) -> None:
    client = Client(headers={"host": "localhost"})
    made = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 4))):
        damage(made, data.draw(st.sampled_from(paths(made)[1:])), data)
    answer = client.post("/api/scenarios", json.dumps(made), content_type="application/octet-stream")
    assert answer.status_code < 500, answer.content
    if answer.status_code != 201:
        return
    scenario = answer.json()["id"]
    for in_time in (False, True):
        fields = {"in_time": in_time, **({"until": 60} if in_time else {})}
        answer = client.post(f"/api/scenarios/{scenario}/runs", json.dumps(fields), content_type="application/json")
        assert answer.status_code < 500, answer.content
        if answer.status_code == 202:
            number = answer.json()["id"]
            execute_run(number)
            run = Run.objects.get(pk=number)
            assert run.state != Run.State.FAILED, run.error
            crawl(client, scenario, number)
    Scenario.objects.filter(pk=scenario).delete()


def damage(document: Any, path: tuple[Any, ...], data: st.DataObject) -> None:
    """Replace the value at the path, remove or rename its key, or insert a null before it."""
    *way, last = path
    holder = document
    for step in way:
        holder = holder[step]
    how = data.draw(st.sampled_from(["replace", "replace", "replace", "remove", "rename"]))
    if how == "replace":
        holder[last] = copy.deepcopy(data.draw(NASTY))
    elif isinstance(holder, list):
        holder.insert(0, None)
    else:
        value = holder.pop(last)
        if how == "rename":
            holder[data.draw(st.sampled_from(["\0", "", "../x", "metadata"]))] = value


def crawl(client: Client, scenario: int, run: int) -> None:
    """Open the pages and the API of a run, and the pages that they link to, OF_EACH of a kind."""
    todo = [f"/scenarios/{scenario}/", f"/runs/{run}/", f"/compare/{run}/{run}/"]
    todo += [f"/api/scenarios/{scenario}", f"/api/scenarios/{scenario}/export"]
    todo += [f"/api/runs/{run}{query}" for query in QUERIES]
    seen, kinds = set(todo), Counter[str]()
    while todo:
        address = todo.pop()
        opened = client.get(address)
        text = body(opened)
        assert opened.status_code < 500, address
        if not opened["Content-Type"].startswith("text/html"):
            continue
        for link in map(html.unescape, LINK.findall(text.decode())):
            kind = kind_of(link)
            if kind and link not in seen and kinds[kind] < OF_EACH:
                seen.add(link)
                kinds[kind] += 1
                todo.append(link)


def kind_of(link: str) -> str:
    """Return the name of a page with the names of its query; "" for files and other sites."""
    path, _, query = link.partition("#")[0].partition("?")
    try:
        name = resolve(unquote(path)).view_name
    except Resolver404:
        return ""
    fields = sorted(part.partition("=")[0] for part in query.split("&"))
    return f"{name} {fields}" if path.startswith(("/runs/", "/scenarios/", "/compare/", "/api/")) else ""
