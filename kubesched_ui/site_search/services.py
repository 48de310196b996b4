"""The search over everything: actions, live clusters, pods, nodes, runs, scenarios, lessons, documentation.

The models return only what the viewer may see. A search reads about ROWS names of pods and nodes, of the newest
scenarios and runs (at least those of the page), so its time does not grow with the database.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any, NamedTuple
from urllib.parse import quote

from django.db.models import Case, IntegerField, Q, QuerySet, When
from django.urls import reverse

from kubesched_ui.clusters import queries
from kubesched_ui.clusters.models import PendingPod
from kubesched_ui.documentation import markdown_pages
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.lessons import catalog
from kubesched_ui.models import ClusterObject, PodResult, Run, Scenario, WrittenLesson
from kubesched_ui.templatetags.ui import cluster_pod
from scheduler_core.cluster.formatting import count

MOST = 7  # results per group
ROWS = 100_000  # names of pods and nodes
NEWEST = 200  # scenarios and runs whose pods and nodes are searched
MAX_TEXT = 100


class Hit(NamedTuple):
    """A result: a title that links to `address`, and a note about it."""

    title: str
    address: str
    note: str = ""


class HitGroup(NamedTuple):
    """The results of one kind. `more`: the address of a list that has the others, "" for none."""

    title: str
    hits: list[Hit]
    more: str = ""


class Place(NamedTuple):
    """The page from which the user searches: its run and scenario come first."""

    run: int | None = None
    scenario: int | None = None


def place_of(path: str) -> Place:
    """Return the run and scenario of a page's path, if the viewer may see them."""
    found = re.match(r"/(runs|scenarios)/(\d{1,18})/", path)
    if found is None:
        return Place()
    if found[1] == "scenarios":
        return Place(None, Scenario.objects.filter(pk=found[2]).values_list("pk", flat=True).first())
    run = Run.objects.filter(pk=found[2]).values_list("pk", "scenario_id").first()
    return Place(*run) if run else Place()


def search(text: str, place: Place, allows: Callable[[str], bool]) -> list[HitGroup]:
    """Return the results by kind, without empty groups. `allows`: whether the viewer may open an address."""
    text = text.replace("\0", "").strip()[:MAX_TEXT]
    words = text.lower().split()
    groups = [HitGroup("Actions", [hit for hit in actions(place) if has(words, hit.title, hit.note)])]
    if words:
        groups[0] = groups[0]._replace(hits=groups[0].hits[:MOST])
        newest = _newest_runs(place)
        groups += [
            _listed("Live clusters", live_clusters(words), reverse("clusters")),
            HitGroup("Pending pods of live clusters", pending_pods(text)),
            HitGroup("Pods", pods(words, place, newest)),
            HitGroup("Nodes", nodes(words, place, newest)),
            _listed("Runs", runs(text), f"{reverse('runs')}?q={quote(text)}"),
            _listed("Scenarios", scenarios(text), f"{reverse('scenarios')}?q={quote(text)}"),
            _listed("Experiments", experiments(text), f"{reverse('experiments')}?q={quote(text)}"),
            HitGroup("Lessons", [*islice(lessons(words), MOST)]),
            _listed("Written lessons", written_lessons(text), f"{reverse('learn')}?q={quote(text)}#t-written"),
            HitGroup("Documentation", docs(words)),
        ]
    allowed = (group._replace(hits=[hit for hit in group.hits if allows(hit.address)]) for group in groups)
    return [group for group in allowed if group.hits]


def has(words: Iterable[str], *texts: str) -> bool:
    """Return whether each word is in one of the texts."""
    whole = "\n".join(texts).lower()
    return all(word in whole for word in words)


def _listed(title: str, hits: list[Hit], more: str) -> HitGroup:
    return HitGroup(title, hits[:MOST], more if len(hits) > MOST else "")


# ---- actions


def actions(place: Place) -> Iterator[Hit]:
    """Yield what the user can do: first on the run or scenario of the page."""
    if place.run is not None:
        run = reverse("run", args=[place.run])
        yield Hit("Find a cycle of this run by an expression", f"{run}#map", "search, breakpoints")
        yield Hit("Present this run", reverse("present", args=[place.run]), "slides, large type")
        yield Hit("Export this run", reverse("run-export", args=[place.run]), "Parquet, JSON, run file, download")
    if place.scenario is not None:
        scenario = reverse("scenario", args=[place.scenario])
        yield Hit("Start a run of this scenario", f"{scenario}#start", "simulate, schedule, settings")
        yield Hit("Preview an upgrade of this cluster", f"{scenario}#upgrade", "releases, versions")
        experiments = reverse("scenario-experiments", args=[place.scenario])
        yield Hit(
            "Ask a question about this cluster", experiments, "experiment, capacity, drain, loss, buy, tune, moves"
        )
        yield Hit("Compare settings on this cluster", f"{scenario}#pairs", "weights, strategies, MostAllocated")
        yield Hit("Edit the objects of this scenario", f"{reverse('compose')}?scenario={place.scenario}", "YAML")
    home = reverse("home")
    yield Hit("Open a live cluster", reverse("clusters"), "connect, kubeconfig, context, pending now")
    yield Hit("Upload a cluster", f"{home}#upload", "snapshot, kubectl, must-gather")
    yield Hit("Open a sample", f"{home}#samples", "example")
    yield Hit("Compose a scenario", reverse("compose"), "new, editor, YAML")
    yield Hit("Preview an upgrade", f"{home}#t-plan", "release, version")
    yield Hit("Compare weights or scoring strategies", f"{home}#t-tune", "tune, LeastAllocated, MostAllocated")
    yield Hit("Start an experiment from a document", f"{reverse('experiments')}#t-document", "sweep, YAML, questions")
    yield Hit("Compare two runs", reverse("runs"), "comparison, difference, fork")
    yield Hit("Start the course", reverse("learn"), "lessons, learn, teach")
    yield Hit("Join a live class", reverse("join"), "code, student")
    yield Hit("Read the documentation", reverse("docs"), "help, manual")
    yield Hit("Use the REST API", "/api/docs", "OpenAPI, HTTP")


# ---- live clusters


def live_clusters(words: Sequence[str]) -> list[Hit]:
    """Return the live clusters that match."""
    found = []
    for one in queries.clusters():
        if has(words, one.name, one.connection):
            pending = one.counts.get("pending")
            note = one.connection if pending is None else f"{pending:,} pending"
            found.append(Hit(one.name, reverse("cluster", args=[one.pk]), note))
    return found[: MOST + 1]


def pending_pods(text: str) -> list[Hit]:
    """Return the pending pods of live clusters that match."""
    rows = PendingPod.objects.filter(cluster__in=queries.clusters()).matching(text).defer("ladder")
    rows = rows.select_related("cluster")
    return [
        Hit(
            one.key,
            cluster_pod(one.cluster_id, one.key),
            f"{one.cluster.name} · {one.sentence[:120]}",
        )
        for one in rows[:MOST]
    ]


# ---- pods and nodes


def _newest_runs(place: Place) -> dict[int, int]:
    """Return scenario -> its newest run, or the run of the page, for the newest runs with at most ROWS pods in all."""
    found: dict[int, int] = {}
    pods = 0
    first = Case(When(pk=place.run, then=0), default=1, output_field=IntegerField())
    rows = Run.objects.filter(cycles_done__gt=0).order_by(first, "-pk")
    for run, scenario, cycles in rows.values_list("pk", "scenario_id", "cycles_done")[:NEWEST]:
        pods += 0 if scenario in found else cycles
        if found and pods > ROWS:
            break
        found.setdefault(scenario, run)
    return found


def _newest_scenarios(place: Place) -> list[int]:
    """Return the scenario of the page and the newest ones that have at most ROWS pods and nodes together."""
    found: list[int] = []
    objects = 0
    first = Case(When(pk=place.scenario, then=0), default=1, output_field=IntegerField())
    for scenario, counts in Scenario.objects.order_by(first, "-pk").values_list("pk", "counts")[:NEWEST]:
        objects += counts.get("Pod", 0) + counts.get("Node", 0)
        if found and objects > ROWS:
            break
        found.append(scenario)
    return found


def _best(rows: QuerySet[Any], words: Sequence[str], here: Q, *fields: str) -> list[Any]:
    """Return these fields of the rows with each word in namespace or name.

    Names that equal the last word come first, then those that begin with it; of these the ones of the page (`here`).
    All fields are in one index, so the database reads only that.
    """
    for word in words:
        namespace, slash, name = word.rpartition("/")
        within = Q(name__icontains=word) | Q(namespace__icontains=word)
        rows = rows.filter(Q(namespace__iendswith=namespace, name__istartswith=name) if slash else within)
    name = words[-1].rpartition("/")[2]
    likeness = Case(When(name=name, then=0), When(name__istartswith=name, then=1), default=2)
    order = (likeness, Case(When(here, then=0), default=1), f"-{fields[0]}", "namespace", "name")
    return [*rows.order_by(*order).values_list(*fields)[:MOST]]


def pods(words: Sequence[str], place: Place, newest: Mapping[int, int]) -> list[Hit]:
    """Return pods of the newest runs, then pods that only scenarios have."""
    results = PodResult.objects.filter(run__in=newest.values())
    tried = _best(results, words, Q(run=place.run), "run_id", "namespace", "name")
    one_of = [Q(run=run, namespace=namespace, name=name) for run, namespace, name in tried]
    known = results.filter(reduce(or_, one_of)).select_related("run__scenario") if one_of else []
    outcomes = {(one.run_id, one.namespace, one.name): one for one in known}
    hits = [_of_result(outcomes[key]) for key in tried if key in outcomes]
    scenario_of = {run: scenario for scenario, run in newest.items()}
    seen = {(scenario_of[run], namespace, name) for run, namespace, name in tried}
    for scenario, namespace, name in _objects("Pod", words, place):
        if (scenario.pk, namespace, name) not in seen:
            run = newest.get(scenario.pk)
            address = reverse("pod", args=[run, namespace, name]) if run else None
            address = address or reverse("object-named", args=[scenario.pk, "Pod", namespace, name])
            hits.append(Hit(name, address, f"{namespace} · {scenario.name}"))
    return hits[:MOST]


def _of_result(one: PodResult) -> Hit:
    outcome = f"on {one.node}" if one.result == PodResult.Result.SCHEDULED else one.get_result_display().lower()
    note = f"{one.namespace} · {outcome} · {one.run.title} of {one.run.scenario.name}"
    return Hit(one.name, reverse("pod", args=[one.run_id, one.namespace, one.name]), note)


def nodes(words: Sequence[str], place: Place, newest: Mapping[int, int]) -> list[Hit]:
    """Return nodes, in the newest run of their scenario if there is one."""
    hits = []
    for scenario, _, name in _objects("Node", words, place):
        run = newest.get(scenario.pk)
        address = reverse("object-named", args=[scenario.pk, "Node", name])
        hits.append(Hit(name, reverse("node", args=[run, name]) if run else address, scenario.name))
    return hits


def _objects(kind: str, words: Sequence[str], place: Place) -> list[tuple[Scenario, str, str]]:
    rows = ClusterObject.objects.filter(scenario__in=_newest_scenarios(place), kind=kind)
    found = _best(rows, words, Q(scenario=place.scenario), "scenario_id", "namespace", "name")
    scenarios = Scenario.objects.only("name").in_bulk({scenario for scenario, _, _ in found})
    return [(scenarios[pk], namespace, name) for pk, namespace, name in found if pk in scenarios]


# ---- runs and scenarios


def runs(text: str) -> list[Hit]:
    """Return the runs that match, or the one that the text numbers: `12`, `run 12`."""
    text = re.sub(r"(?i)^run (?=\d+$)", "", text)
    found = Run.objects.listed().matching(text)[: MOST + 1]
    return [
        Hit(run.title, reverse("run", args=[run.pk]), f"{run.scenario.name}, release {run.release_number}, {run.state}")
        for run in found
    ]


def scenarios(text: str) -> list[Hit]:
    """Return the scenarios that match."""
    found = Scenario.objects.matching(text).only("name", "counts", "kubernetes")[: MOST + 1]
    return [
        Hit(
            one.name,
            reverse("scenario", args=[one.pk]),
            f"{count(one.counts.get('Node', 0))}, {count(one.counts.get('Pod', 0), 'pod')}",
        )
        for one in found
    ]


def experiments(text: str) -> list[Hit]:
    """Return the experiments that match."""
    found = Experiment.objects.matching(text).select_related("scenario").only("name", "question", "scenario__name")
    return [
        Hit(one.title, reverse("experiment", args=[one.pk]), f"{one.question} of {one.scenario.name}")
        for one in found[: MOST + 1]
    ]


# ---- lessons and documentation


def lessons(words: Sequence[str]) -> Iterator[Hit]:
    """Yield the lessons with all words in title and summary."""
    for lesson in catalog.lessons()[0]:
        if has(words, lesson.title, lesson.head.summary):
            yield Hit(lesson.title, reverse("lesson", args=[lesson.name]), f"Lesson {lesson.number}")


def written_lessons(text: str) -> list[Hit]:
    """Return the lessons of users that match."""
    return [
        Hit(one.name, reverse("written-lesson", args=[one.pk]), f"about {one.scenario.name}")
        for one in WrittenLesson.objects.matching(text)[: MOST + 1]
    ]


def docs(words: Sequence[str]) -> list[Hit]:
    """Return sections of the documentation: first those with the words in page title and heading, then in the text."""
    found: tuple[list[Hit], list[Hit]] = ([], [])
    for page in markdown_pages.pages().values():
        for heading in page.headings:
            place = "" if heading is page.headings[0] else f"#{heading.anchor}"
            hit = Hit(heading.title, page.address + place, page.title if place else page.summary)
            if has(words, heading.title, page.title if not place else ""):
                found[0].append(hit)
            elif has(words, heading.title, heading.text):
                found[1].append(hit)
    return [*found[0], *found[1]][:MOST]
