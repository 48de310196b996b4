"""Every kind of page of the product and the steps to open it, for tests of all pages and scripts/screenshots.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, expect

DRAWN_IN_VIEW = "[data-chart], .map-main, canvas.small-map"
NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
LOADING = re.compile("Loading|Drawing")


def no_steps(page: Page) -> None: ...


class Stop(NamedTuple):
    """`then`: the steps at the URL that open the intended page."""

    name: str
    address: str
    then: Callable[[Page], None] = no_steps

    def visit(self, page: Page) -> None:
        """Open the page and wait until everything is loaded."""
        page.goto(self.address)
        self.then(page)
        page.evaluate(
            "() => document.querySelectorAll('details:has([data-chart])').forEach((one) => (one.open = true))"
        )
        for place in page.locator(DRAWN_IN_VIEW).all():  # charts and maps are loaded when they scroll into view
            if place.is_visible():
                place.scroll_into_view_if_needed()
                place.evaluate(NEXT_FRAME)
                waits = place.locator(".wait, [data-wait]").filter(has_text=LOADING, visible=True)
                expect(waits, self.name).to_have_count(0, timeout=30_000)
        page.wait_for_load_state("networkidle")
        page.evaluate("scrollTo(0, 0)")

    @property
    def key(self) -> str:
        """Return the name of the page in tests, for example `scenario-nodes`."""
        return self.name.replace(",", "").replace(" ", "-")


GROUPS = Path(__file__).parents[2] / "kubesched_ui" / "scenarios" / "samples" / "20-pod-group.yaml"
DEVICES = Path(__file__).parents[2] / "kubesched_ui" / "scenarios" / "samples" / "19-devices.yaml"
FORK = {"at": 1, "name": "without delta", "changes": [{"delete": {"kind": "Node", "name": "delta"}}]}


def stops(
    scenario: int,
    run: int,
    fork: int,
    timed_scenario: int,
    timed: int,
    upgrade: int,
    devices: int,
    groups: int,
    cluster: int,
) -> list[Stop]:
    """Return all pages: of a single-pass run of shop(), of its FORK, of a virtual time run of story.yaml, of a preview,
    of a run of DEVICES, of one of GROUPS, of a live cluster.
    """
    pod = f"/runs/{run}/pods/shop"
    scene = f"/scenarios/{scenario}/"
    live = f"/clusters/{cluster}/"
    return [
        Stop("home", "/"),
        Stop("home, upload refused", "/", _paste),
        Stop("message", "/", _message),
        Stop("message, refused", "/message/", _no_message),
        Stop("documentation", "/docs/"),
        Stop("documentation, a page", "/docs/virtual-time/"),
        Stop("search", f"/search/?q=front&from=/runs/{run}/"),
        Stop("search, nothing found", "/search/?q=nothing-has-this-name"),
        Stop("search, dialog", f"/runs/{run}/", _search),
        Stop("scenarios", "/scenarios/"),
        Stop("scenarios, none found", "/scenarios/?q=nothing-has-this-name"),
        Stop("scenario", scene),
        Stop("scenario, pods chosen", scene, lambda page: page.get_by_label("Bound pods, rescheduled").check()),
        Stop("scenario, configuration refused", scene, _wrong_config),
        Stop("scenario, template refused", scene, _wrong_template),
        Stop("scenario, deletion", scene, _click("[data-confirm^='Delete this scenario']", "#confirm")),
        Stop("scenario in virtual time", f"/scenarios/{timed_scenario}/"),
        Stop("scenario, nodes", f"{scene}nodes/"),
        Stop("scenario, node", f"{scene}nodes/delta/"),
        Stop("scenario, pods", f"{scene}pods/"),
        Stop("scenario, objects", f"{scene}objects/"),
        Stop("scenario, why not a node", f"{scene}object/Pod/shop/search-1/why/?node=alpha"),
        Stop("object", f"{scene}object/Node/delta/"),
        Stop("object, text refused", f"{scene}object/Node/delta/", _wrong_object),
        Stop("join a class", "/join/"),
        Stop("live class at a run, pending", f"/runs/{run}/", lambda page: _teach(page, f"{pod}/search-1/")),
        Stop("live class at a run, bound", f"/runs/{run}/", lambda page: _teach(page, f"{pod}/front-3/")),
        Stop("wall of a live class", f"/runs/{run}/", lambda page: _projector(page, f"{pod}/search-1/")),
        Stop("student at a run, pending", f"/runs/{run}/", lambda page: _follow(page, f"{pod}/search-1/")),
        Stop("student at a run, bound", f"/runs/{run}/", lambda page: _follow(page, f"{pod}/front-3/")),
        Stop("composer", f"/compose/?scenario={scenario}", _compose),
        Stop("runs", "/runs/"),
        Stop("run", f"/runs/{run}/"),
        Stop("run, a cycle", f"/runs/{run}/?cycle=1", lambda page: page.locator("#map .steps a").first.wait_for()),
        Stop("run, no pod found", f"/runs/{run}/?q=nothing-has-this-name"),
        Stop("run, fork form", f"/runs/{run}/", _click("#fork > summary")),
        Stop("run, forked", f"/runs/{fork}/"),
        Stop("run, together", f"/runs/{run}/together/"),
        Stop("run, quotas", f"/runs/{run}/quotas/"),
        Stop("run, export", f"/runs/{run}/export/"),
        Stop("run, object", f"/runs/{run}/object/?kind=Node&name=alpha&cycle=2&path=status.allocatable.cpu"),
        Stop("comparison", f"/compare/{run}/{fork}/"),
        Stop("comparison, a pod", f"/compare/{run}/{fork}/?pod=shop/front-3"),
        Stop("comparison, unlike runs", f"/compare/{run}/{timed}/?cycle=3&pod=shop/front-3"),
        Stop("experiments", "/experiments/"),
        Stop("experiments, document refused", "/experiments/", _wrong_document),
        Stop("experiments, questions", f"{scene}experiments/"),
        Stop("experiments, cell", f"{scene}experiments/noise/", _cell),
        Stop("experiments, capacity form", f"{scene}experiments/capacity/"),
        Stop("experiments, capacity", f"{scene}experiments/capacity/", _ask("select[name=pod_1]", "shop/front-1")),
        Stop("experiments, loss form", f"{scene}experiments/loss/"),
        Stop("experiments, loss", f"{scene}experiments/loss/", _lose("Each node")),
        Stop("experiments, a drain", f"{scene}experiments/loss/", _lose("Each node", "Drain", "table a[href*=losses]")),
        Stop("experiments, zones", f"{scene}experiments/loss/", _lose("Each zone")),
        Stop("experiments, an outage", f"{scene}experiments/loss/", _lose("Each zone", "Loss", "a[href*=outage]")),
        Stop("experiments, compare form", f"{scene}experiments/compare/", _click("text=Another configuration")),
        Stop("experiments, compare", f"{scene}experiments/compare/", _ask("#seeds", "2")),
        Stop("experiments, noise", f"{scene}experiments/noise/", _ask("#seeds", "5")),
        Stop("experiments, moves form", f"{scene}experiments/moves/?pod=shop/search-1"),
        Stop("experiments, moves", f"{scene}experiments/moves/", _ask("select[name=pod]", "shop/search-1")),
        Stop("experiments, buy form", f"{scene}experiments/buy/"),
        Stop("experiments, buy", f"{scene}experiments/buy/", _buy),
        Stop("experiments, tune form", f"{scene}experiments/tune/"),
        Stop("experiments, tune", f"{scene}experiments/tune/", _ask("#trials", "4")),
        Stop("experiments, packing form", f"{scene}experiments/packing/"),
        Stop("experiments, packing", f"{scene}experiments/packing/", _ask("#orders", "2")),
        Stop("upgrade", f"/upgrades/{upgrade}/"),
        Stop("upgrade, words", f"/upgrades/{upgrade}/?show=words", _click(".others > summary")),
        Stop("run in virtual time", f"/runs/{timed}/?t=70"),
        Stop("pod, nowhere", f"{pod}/search-1/"),
        Stop("pod, tried on a node", f"{pod}/search-1/", _try_on_alpha),
        Stop("pod, all parts open", f"{pod}/search-1/?point=filter", _open_details),
        Stop("pod, filter", f"{pod}/search-1/?point=filter&plugin=NodeResourcesFit"),
        Stop("pod, no preemption", f"{pod}/search-1/?point=postfilter"),
        Stop("pod, placed", f"{pod}/front-3/"),
        Stop("pod, scores", f"{pod}/front-3/?point=score"),
        Stop(
            "pod, provenance",
            f"{pod}/front-3/?point=score",
            _click("[data-from=raw][data-plugin=NodeResourcesFit]", "#from-tree .lead"),
        ),
        Stop("pod, bound", f"{pod}/front-3/?point=bind"),
        Stop("pod, gated", f"{pod}/import-1/"),
        Stop("pod, why", f"{pod}/search-1/why/"),
        Stop("pod, why not a node", f"{pod}/front-3/why/?node=alpha"),
        Stop("pod in time", f"/runs/{timed}/pods/default/boss/?t=70"),
        Stop("pod in time, preempting", f"/runs/{timed}/pods/default/boss/?point=postfilter&attempt=1"),
        Stop("pod in time, gone", f"/runs/{timed}/pods/default/worker/"),
        Stop(
            "pod, devices",
            f"/runs/{devices}/pods/default/huge/?point=filter&node=gpu-b",
            lambda page: page.locator("#claims [data-node]").wait_for(),
        ),
        Stop("pod, devices to be had", f"/runs/{devices}/pods/default/train/claims/?node=gpu-a"),
        Stop("pod, devices given", f"/runs/{devices}/pods/default/train/?point=reserve"),
        Stop("node, devices", f"/runs/{devices}/nodes/gpu-b/"),
        Stop("run with groups", f"/runs/{groups}/"),
        Stop("group", f"/runs/{groups}/groups/team/train/"),
        Stop("group in a domain", f"/runs/{groups}/groups/team/pair/"),
        Stop("pod of a group", f"/runs/{groups}/pods/team/train-3/", _click("#group summary")),
        Stop("pod that fits, of a group that does not", f"/runs/{groups}/pods/team/train-0/"),
        Stop("pod outside of whose domain nodes are", f"/runs/{groups}/pods/team/pair-0/?point=filter"),
        Stop("present, filter", f"/runs/{run}/present/?cycle=1&point=filter&plugin=NodeResourcesFit"),
        Stop("present, a score", f"/runs/{run}/present/?cycle=1&point=score&plugin=NodeResourcesFit"),
        Stop("present, victims", f"/runs/{timed}/present/?cycle=2&point=victims"),
        Stop("node", f"/runs/{run}/nodes/alpha/"),
        Stop("what if, a node", f"/runs/{run}/what-if/?kind=Node&name=delta", _click("text=Add a taint")),
        Stop("what if, a pod", f"/runs/{run}/what-if/?kind=Pod&namespace=shop&name=search-1&from=cycle+2"),
        Stop("what if, refused", f"/runs/{run}/what-if/?kind=Node&name=nothing"),
        Stop("node in time", f"/runs/{timed}/nodes/n2/"),
        Stop("live clusters", "/clusters/"),
        Stop("live cluster", live),
        Stop("live cluster, no pod found", f"{live}?q=nothing-has-this-name"),
        Stop("live cluster, watches and settings", live, _open_details),
        Stop("live cluster, nodes", f"{live}nodes/"),
        Stop("live cluster, node", f"{live}nodes/n1/"),
        Stop("live cluster, pending pod", f"{live}pods/default/waiting-1/"),
        Stop("live cluster, bound pod", f"{live}pods/default/bound-1/"),
        Stop("live cluster, history", f"{live}history/"),
        Stop("live cluster, a gap", f"{live}history/?at=1110", _click("#gaps > summary")),
        Stop("live cluster, decisions", f"{live}decisions/"),
        Stop("live cluster, report card", f"{live}report/"),
        Stop("course", "/learn/"),
        Stop("lesson", "/learn/pods-without-requests/3/"),
        Stop("lesson, answered wrongly", "/learn/pods-without-requests/3/", lambda page: _answer(page, "90")),
        Stop("lesson, revealed", "/learn/pods-without-requests/3/", lambda page: _answer(page, "83")),
        Stop("lesson, a walk", "/learn/how-the-scheduler-knows/1/"),
        Stop("lesson, for a live class", "/learn/pods-without-requests/3/?present=1"),
        Stop("lesson, nodes to choose", "/learn/what-a-scheduler-does/2/"),
        Stop("lesson, printed", "/learn/pods-without-requests/print/?answers=1"),
        Stop("lesson, written", scene, _write_a_lesson),
        Stop("lesson, written as Markdown", scene, _write_markdown),
        Stop("nothing there", "/nowhere/"),
        Stop("no such run", "/runs/999999/"),
        Stop("API", "/api/docs"),
    ]


def _write_a_lesson(page: Page) -> None:
    page.get_by_role("button", name="Write a lesson").click()
    page.get_by_role("heading", name="Preview with answers").wait_for()


def _write_markdown(page: Page) -> None:
    _write_a_lesson(page)
    page.get_by_role("link", name="Edit as Markdown").click()
    page.get_by_label("Lesson as Markdown").wait_for()
    page.get_by_role("heading", name="Preview with answers").wait_for()


def _click(selector: str, shown: str = "main") -> Callable[[Page], None]:
    """Return a step that clicks on the first match and waits until `shown` is visible."""

    def step(page: Page) -> None:
        page.locator(selector).first.click()
        page.locator(shown).first.wait_for()

    return step


def _open_details(page: Page) -> None:
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")


def _try_on_alpha(page: Page) -> None:
    page.locator("#pod-map").scroll_into_view_if_needed()
    page.get_by_role("button", name="Try search-1 on a node").press("Enter")
    dialog = page.get_by_role("dialog", name="shop/search-1 on a node")
    dialog.get_by_label("Node").fill("alpha")
    page.keyboard.press("Enter")
    expect(dialog.locator(".answer")).to_contain_text("alpha")


def _search(page: Page) -> None:
    """Open the search dialog with results."""
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill("front")
    expect(page.locator("#search [aria-selected=true]")).to_contain_text("front")


def _teach(page: Page, address: str) -> None:
    """Open a live class on the run, at a page of it."""
    page.get_by_role("button", name="Start live class").click()
    page.get_by_label("Shown page").fill(address)
    page.get_by_role("button", name="Show page").click()
    expect(page.locator("#seen h1")).to_have_text(address.split("/")[-2])
    _see(page)


def _follow(page: Page, address: str) -> None:
    """Open the same as a student sees it."""
    _teach(page, address)
    page.goto(f"/join/{page.locator('.live-class-code').inner_text().replace(' ', '')}/")
    page.get_by_label("Your nickname").fill("Ada")
    page.keyboard.press("Enter")
    _see(page)


def _projector(page: Page, address: str) -> None:
    """Open the projector page of the same class."""
    _teach(page, address)
    page.goto(f"/wall/{page.locator('.live-class-code').inner_text().replace(' ', '')}/")
    _see(page)


def _see(page: Page) -> None:
    expect(page.locator("[data-section=map] .capacity-bar").first).to_be_visible()
    expect(page.get_by_text("Simulating fixes")).to_have_count(0)


def _compose(page: Page) -> None:
    """Open every card, with an invalid line."""
    expect(page.locator("details.thing").first).to_be_visible()
    page.locator(".cm-content").evaluate(
        "(content, insert) => content.cmTile.view.dispatch({changes: {from: 0, insert}})", "kindd: Pod\n---\n"
    )
    expect(page.locator("[data-problems] li").first).to_be_visible()
    page.evaluate("for (const one of document.querySelectorAll('details.thing')) one.open = true")


def _ask(field: str, value: str) -> Callable[[Page], None]:
    """Start an experiment with this value of a field and wait for its answer."""

    def ask(page: Page) -> None:
        if field.startswith("select"):
            page.select_option(field, value)
        else:
            page.fill(field, value)
        page.get_by_role("button", name="Start the experiment").click()
        expect(page.locator(".experiment-answer")).to_be_visible(timeout=30_000)

    return ask


def _lose(scope: str, mode: str = "Loss", link: str = "") -> Callable[[Page], None]:
    """Start an experiment about losses, wait for its answer and open a link of it."""

    def lose(page: Page) -> None:
        page.get_by_role("radio", name=re.compile(mode)).check()
        page.get_by_label(scope, exact=True).check()
        page.get_by_role("button", name="Start the experiment").click()
        expect(page.locator(".experiment-answer")).to_be_visible(timeout=60_000)
        if link:
            page.locator(link).first.click()
            expect(page.locator("#pods")).to_be_visible()

    return lose


def _wrong_document(page: Page) -> None:
    page.get_by_text("Start from a document").click()
    page.get_by_label("Experiment document, YAML or JSON").fill(
        "kind: Experiment\nspec: {seeds: {count: 1000000000}}\n"
    )
    page.get_by_role("button", name="Start the experiment").click()
    expect(page.locator(".notice.bad")).to_be_visible()


def _cell(page: Page) -> None:
    """Start an experiment, wait for its answer and open its first cell."""
    page.get_by_role("button", name="Start the experiment").click()
    expect(page.locator(".experiment-answer")).to_be_visible(timeout=60_000)
    page.locator("#cells tbody a").first.click()
    expect(page.get_by_role("heading", name="Computation 1")).to_be_visible()


def _buy(page: Page) -> None:
    page.get_by_text("Time of the search").click()
    _ask("#seconds", "1")(page)


def _paste(page: Page) -> None:
    page.get_by_text("Type or paste objects").click()
    page.get_by_label("Objects, YAML or JSON").fill("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: [}")
    page.get_by_role("button", name="Upload objects").click()
    page.wait_for_url("**/upload/")


def _message(page: Page) -> None:
    page.locator("#message-text").fill(
        "0/9 nodes are available: 1 an unknown reason, 3 Insufficient cpu, 4 Insufficient memory, 4 node(s) had "
        "untolerated taint {dedicated: batch}. preemption: 0/9 nodes are available: 4 No preemption victims found "
        "for incoming pod, 5 Preemption is not helpful for scheduling."
    )
    page.get_by_role("button", name="Explain the message").click()
    page.wait_for_url("**/message/")


def _no_message(page: Page) -> None:
    page.locator("#message-text").fill("Successfully assigned default/web-0 to n1")
    page.get_by_role("button", name="Explain the message").click()
    page.get_by_role("alert").wait_for()


def _wrong_config(page: Page) -> None:
    page.locator("#startform details > summary").filter(has_text="Scheduler configuration").click()
    wrong = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
    page.locator("#config").fill(f"{wrong}- plugins: {{score: {{enabled: [{{name: Coscheduling}}]}}}}\n")
    _start(page)


def _wrong_template(page: Page) -> None:
    page.get_by_label("Copies of a pod, or the pods of a workload").check()
    template = page.locator("#template")
    template.fill(template.input_value().replace("500m", "half"))
    _start(page)


def _start(page: Page) -> None:
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/run/")


def _answer(page: Page, text: str) -> None:
    page.locator("input[name=answer]").fill(text)
    page.get_by_role("button", name="Check").click()
    page.locator("#verdict .badge").wait_for()


def _wrong_object(page: Page) -> None:
    page.locator("#text").fill("apiVersion: v1\nkind: Node\nmetadata: {name: delta}\nstatus: [}")
    page.get_by_role("button", name="Save as new version").click()
    page.wait_for_load_state()


KEYS = [stop.key for stop in stops(*[0] * 9)]
# Every other stop that is opened by URL, with the shop only; other stops take longer.
QUICK = [stop.key for stop in stops(1, 1, *[0] * 7) if stop.then is no_steps and "/0/" not in stop.address][::4]
