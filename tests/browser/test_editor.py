"""Scenario editor: forms alone build the same as YAML, also by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.kubesched_ui.instance import Instance

CLUSTER = """\
apiVersion: kubesched.dev/v1alpha1
kind: Scenario
metadata: {name: Six nodes}
spec:
  timeline:
    - {at: 30, taint: {node: n-2, key: broken, effect: NoExecute}}
  objects:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 7
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            containers: [{name: main, image: nginx, resources: {requests: {cpu: 500m, memory: 256Mi}}}]
            topologySpreadConstraints:
              - maxSkew: 1
                topologyKey: topology.kubernetes.io/zone
                whenUnsatisfiable: DoNotSchedule
                labelSelector: {matchLabels: {app: web}}
"""
NODE = """\
    - apiVersion: v1
      kind: Node
      metadata:
        name: n-%d
        labels: {kubernetes.io/hostname: n-%d, topology.kubernetes.io/zone: zone-%s}
      status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}
"""


VIEW = "document.querySelector('.cm-content').cmTile.view"  # CodeMirror's object, which is not part of its interface


def written() -> bytes:
    """Return the same scenario as YAML, nodes first as the forms put them."""
    nodes = "".join(NODE % (n, n, "abc"[(n - 1) % 3]) for n in range(1, 7))
    return CLUSTER.replace("  objects:\n", f"  objects:\n{nodes}").encode()


def card(page: Page, title: str) -> Locator:
    return page.locator("details.thing", has=page.locator("summary strong", has_text=re.compile(f"^{title}")))


def enter(field: Locator, text: str) -> None:
    field.fill(text)
    field.press("Tab")


def text_of(page: Page) -> str:
    return str(page.evaluate(f"{VIEW}.state.doc.toString()"))


def paste(page: Page, words: str) -> None:
    page.evaluate(f"w => {VIEW}.dispatch({VIEW}.state.replaceSelection(w))", words)


def has(page: Page, words: str) -> None:
    """Wait until the text contains the words."""
    page.wait_for_function(f"w => {VIEW}.state.doc.toString().includes(w)", arg=words)


def decided(site: Instance, run: int) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the decisions of a run: the digest of every cycle, and (name, node, result) of each pod."""
    pods = site.api("GET", f"/runs/{run}/pods")["pods"]
    status = site.api("GET", f"/runs/{run}/export?format=run")["status"]
    return status["digest"], sorted((one["name"], one["node"], one["result"]) for one in pods)


def build(page: Page) -> None:
    page.goto("/compose/")
    page.get_by_role("button", name="Add nodes").click()
    nodes = card(page, "n-1 to n-3")
    enter(nodes.get_by_label("Number of nodes"), "6")
    expect(card(page, "n-1 to n-6").locator("summary")).to_contain_text("6 nodes in 3 zones")
    page.get_by_role("button", name="Add a Deployment").click()
    web = card(page, "Deployment web")
    enter(web.get_by_label("Replicas"), "7")
    web.get_by_label("Another constraint").select_option(label="Spread over zones or nodes")
    web.get_by_role("button", name="Add constraint").click()
    expect(web.locator(".says")).to_have_text(
        "A zone may have at most 1 more pod with app=web than the zone with the fewest, else the pod waits."
    )
    page.locator("details.thing summary", has_text="About").click()
    enter(card(page, "About").get_by_label("Name", exact=True), "Six nodes")
    page.locator("details.thing summary", has_text="Timeline").click()
    plan = card(page, "Timeline")
    plan.get_by_role("button", name="Add an event").click()
    enter(plan.get_by_label("After"), "30")
    enter(plan.get_by_label("Node", exact=True), "n-2")
    plan.get_by_label("Effect").select_option("NoExecute")
    expect(page.locator("[data-counted]")).to_have_text("6 nodes, 1 other object")


@pytest.mark.long
def test_forms_build_and_run_the_same_as_yaml(page: Page, site: Instance) -> None:
    build(page)
    expect.soft(page.locator("[data-problems] li")).to_have_count(0)
    has(page, "effect: NoExecute")
    page.get_by_role("heading", name="Compose a scenario").click()
    page.keyboard.press("r")
    page.wait_for_url("**/runs/*/")
    composed = int(page.url.rstrip("/").rpartition("/")[2])
    assert site.finished(composed)["state"] == "done"
    run = site.record(written())["run"]
    assert decided(site, composed) == decided(site, run)
    assert len(decided(site, run)[1]) > 7, "those on n-2 were evicted and made anew"


def test_text_and_forms_follow_each_other(page: Page) -> None:
    page.goto("/compose/")
    page.get_by_role("button", name="Add a Pod").click()
    pod = card(page, "Pod pod")
    expect(pod.get_by_label("Name", exact=True).first).to_be_focused()
    enter(pod.get_by_label("Namespace", exact=True), "shop")
    has(page, "namespace: shop")
    page.get_by_role("button", name="Undo").click()
    expect(pod.get_by_label("Namespace", exact=True)).to_have_value("")
    assert "namespace" not in text_of(page)
    page.keyboard.press("Escape")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    paste(page, "  nodeSelectorr: {disk: ssd")
    page.keyboard.type("}")
    problem = page.locator("[data-problems] li.warning")
    expect(problem).to_contain_text("did you mean nodeSelector?")
    problem.get_by_role("button", name="Write nodeSelector").click()
    expect(page.locator("[data-problems] li")).to_have_count(0)
    expect(pod.locator(".says")).to_have_text("It runs only on nodes with disk=ssd.")
    page.reload()
    assert "nodeSelector: {disk: ssd}" in text_of(page), "what was typed survives"
    card(page, "Pod pod").locator("summary").click()
    expect(card(page, "Pod pod").locator(".says")).to_have_text("It runs only on nodes with disk=ssd.")


def test_completion_and_leaving_the_editor_by_keyboard(page: Page) -> None:
    page.goto("/compose/")
    page.get_by_role("heading", name="Compose a scenario").click()
    page.keyboard.press("e")
    paste(page, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  priority")
    page.keyboard.type("C")
    page.keyboard.press("Control+Space")
    expect(page.locator(".cm-tooltip-autocomplete [aria-selected]")).to_contain_text("priorityClassName")
    page.keyboard.press("Enter")
    has(page, "  priorityClassName: ")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('.cm-editor')")


def test_problems_are_marked_in_the_text(page: Page) -> None:
    page.goto("/compose/")
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c}]\n"
    paste(page, f"{pod}  nodeSelectorr: {{disk: ssd}}\n")
    word = page.locator(".composer-wrong.warning")
    expect(word).to_have_text("nodeSelectorr")
    expect(word).to_have_attribute("title", re.compile("did you mean nodeSelector[?]"))
    sign = page.locator(".composer-mark.warning")
    expect(sign).to_have_text("!")
    expect(sign).to_have_attribute("title", re.compile("did you mean nodeSelector[?]"))
    line = page.locator(".cm-line", has_text="nodeSelectorr").bounding_box()
    place = sign.bounding_box()
    assert line
    assert place
    assert abs(line["y"] - place["y"]) < 2
    page.keyboard.press("Tab")
    page.keyboard.press("e")
    page.keyboard.press("Control+Home")
    page.keyboard.type("# first\n")
    expect(word).to_have_text("nodeSelectorr")  # the mark moves with the text


@pytest.mark.long
def test_keys_of_the_completion_list_come_first(page: Page) -> None:
    page.goto("/compose/")
    page.locator(".cm-content").click()
    paste(page, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  node")
    shown = page.locator(".cm-tooltip-autocomplete li")
    page.keyboard.press("Control+Space")
    expect(shown.first).to_contain_text("nodeName")
    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)
    page.keyboard.press("Control+Space")
    expect(shown).to_have_count(2)
    page.keyboard.type("S")
    expect(shown).to_have_count(1)
    page.keyboard.press("Tab")
    has(page, "  nodeSelector:")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("disk: ssd")
    has(page, "  nodeSelector:\n    disk: ssd")
    page.keyboard.press("Control+a")
    page.keyboard.press("Tab")
    has(page, "  kind: Pod")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert text_of(page).startswith("apiVersion: v1\nkind: Pod")
    page.keyboard.press("Control+/")
    has(page, "# apiVersion: v1\n# kind: Pod")


def test_a_text_with_an_error_is_not_run_and_the_error_is_shown(quiet_page: Page) -> None:
    page = quiet_page
    page.goto("/compose/")
    paste(page, "kind: Podd\napiVersion: v1\n")
    expect(page.locator("[data-problems] li.error")).to_contain_text("did you mean Pod?")
    page.get_by_role("button", name="Run it").click()
    expect(page.get_by_role("alert")).to_contain_text("1 error to fix, the first in line 1")


@pytest.mark.long
@pytest.mark.parametrize("width", [360, 1440])
def test_a_copy_of_a_sample_has_a_preview(page: Page, site: Instance, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    sample = next(one for one in site.api("GET", "/scenarios?limit=100") if one["name"].startswith("Spread"))
    page.goto(f"/scenarios/{sample['id']}/")
    page.get_by_role("link", name="Compose", exact=True).click()
    expect(page.get_by_role("heading", name="The cluster")).to_be_visible()
    expect(page.locator("[data-counted]")).to_contain_text("nodes")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


PROFILES = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
  - schedulerName: batch   # for the night
    plugins:
      score:
        enabled:
          - {name: NodeAffinity, weight: 7}   # near its data
"""


def test_scoring_is_set_by_the_form_of_all_pages(page: Page) -> None:
    page.goto("/compose/")
    form = card(page, "Scheduler")
    form.locator("summary").first.click()
    late: list[Route] = []
    page.route("**/compose/read/", lambda route: late.append(route))
    with page.expect_request("**/compose/read/"):
        paste(page, PROFILES)
    form.get_by_label("NodeAffinity").fill("9")
    late[0].continue_()  # the form is built anew below the hands of the user
    expect(form.locator("summary").first).to_contain_text("a configuration of its own")
    expect(form.get_by_label("NodeAffinity")).to_be_focused()
    page.unroute("**/compose/read/")
    page.keyboard.press("Enter")
    has(page, "weight: 9")
    assert "- {name: NodeAffinity, weight: 9}   # near its data" in text_of(page)
    form.get_by_label("Strategy of NodeResourcesFit").select_option("MostAllocated")
    form.get_by_role("button", name="Apply to the configuration").click()
    has(page, "type: MostAllocated")
    expect(form.get_by_role("button", name="Apply to the configuration")).to_be_focused()
    form.get_by_role("button", name="Use the default of the release").click()
    expect(form.locator("summary").first).to_contain_text("default of the release")
    assert text_of(page).strip() == ""


def test_the_configuration_has_completion_and_quick_fixes(page: Page) -> None:
    page.goto("/compose/")
    page.locator(".cm-content").click()
    paste(page, PROFILES.replace("{name: NodeAffinity", "{name: NodeAffinty") + "          - name: ImageLo")
    page.keyboard.type("c")
    page.keyboard.press("Control+Space")
    expect(page.locator(".cm-tooltip-autocomplete [aria-selected]")).to_have_text("ImageLocality")
    page.keyboard.press("Enter")
    has(page, "- name: ImageLocality")
    page.keyboard.press("Enter")
    page.keyboard.type("  wei")
    page.keyboard.press("Control+Space")
    expect(page.locator(".cm-tooltip-autocomplete [aria-selected]")).to_contain_text("weight")
    page.keyboard.press("Enter")
    page.keyboard.type("3")
    has(page, "            weight: 3")
    problem = page.locator("[data-problems] li.warning").filter(
        has_text="NodeAffinty"
    )  # incomplete words have a suggestion
    expect(problem).to_contain_text('there is no plugin "NodeAffinty" in kube-scheduler')
    problem.get_by_role("button", name="Write NodeAffinity").click()
    has(page, "- {name: NodeAffinity, weight: 7}   # near its data")
    expect(page.locator("[data-problems] li")).to_have_count(0)


@pytest.mark.long
def test_search_finds_lines_outside_the_viewport(page: Page) -> None:
    page.goto("/compose/")
    page.locator(".cm-content").click()
    paste(page, "".join(f"# line {n}{' Needle' if n % 200 == 0 else ''}\n" for n in range(1, 1001)))
    expect(page.locator("[data-counted]")).to_have_text("0 nodes, 0 other objects")  # analyzed by a worker process
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+f")
    bar = page.get_by_role("search", name="Search in the editor")
    expect(bar.get_by_label("Find")).to_be_focused()
    page.keyboard.type("needle")
    expect(bar.get_by_role("status")).to_have_text("1 of 5")
    expect(page.locator(".composer-here")).to_have_text("Needle")
    page.keyboard.press("Enter")
    expect(bar.get_by_role("status")).to_have_text("2 of 5")
    for position in ("1 of 5", "5 of 5"):
        page.keyboard.press("Shift+Enter")
        expect(bar.get_by_role("status")).to_have_text(position)
    expect(page.locator(".cm-content")).to_contain_text("# line 1000 Needle")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    assert page.evaluate("getSelection().toString()") == "Needle"
    page.keyboard.type("Pin")
    has(page, "# line 1000 Pin")
    page.keyboard.press("Control+g")
    page.keyboard.type("345")
    page.keyboard.press("Enter")
    page.keyboard.type("here ")
    has(page, "\nhere # line 345\n")
    page.get_by_role("button", name="Find", exact=True).click()
    bar.get_by_label("Find").fill("nowhere")
    expect(bar.get_by_role("status")).to_have_text("nothing found")
    bar.get_by_role("button", name="Close").click()
    expect(bar).to_be_hidden()


@pytest.mark.long
def test_a_rejected_text_shows_the_error_and_the_next_text_is_analyzed(quiet_page: Page) -> None:
    page = quiet_page
    refused = '{"error": "the text: takes longer than 10 s to read and was stopped; remove some of it"}'

    def answer(route: Route) -> None:
        slow, newer = "slow" in (route.request.post_data or ""), "newer" in (route.request.post_data or "")
        if slow or newer:
            route.fulfill(status=400 if slow else 409, body=refused, content_type="application/json")
        else:
            route.continue_()

    page.goto("/compose/")
    page.route("**/compose/read/", answer)
    page.locator(".cm-content").click()
    page.keyboard.type("# slow")
    expect(page.get_by_role("alert")).to_have_text(re.compile("^the text: takes longer than 10 s"))
    expect(page.locator("[data-counted]")).to_have_text("not checked")
    expect(page.locator("[data-problems] li")).to_have_text(re.compile("^the text: takes longer than 10 s"))
    page.keyboard.press("Control+a")
    page.keyboard.type("# quick")
    expect(page.locator("[data-counted]")).to_have_text("0 nodes, 0 other objects")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("[data-problems] li")).to_have_count(0)
    page.keyboard.type(" newer")
    page.wait_for_timeout(500)
    expect(page.get_by_role("alert")).to_be_hidden()
