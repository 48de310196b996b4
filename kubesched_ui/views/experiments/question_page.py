"""What a question contributes to the pages: its form, the document that the form makes, and the context of its
template."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from kubesched_ui.experiments import estimates
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from kubesched_ui.presenters.charts import Figure
from kubesched_ui.runs import config_resolution, estimate
from kubesched_ui.runs.services import defaults
from scheduler_core.experiments.document import KIND
from scheduler_core.virtual_time.scenario import API_VERSION

MAX_FIND = 300  # characters


class QuestionForm(forms.Form):
    """The form of a question. A question without settings uses it as it is. `find`: what the page searches in a list of
    pods."""

    needs_waiting = False  # whether the answer is trivial if no pod of the scenario waits for a node

    def __init__(self, *args: Any, scenario: Scenario, **kwargs: Any) -> None:
        self.scenario = scenario
        super().__init__(*args, **kwargs)
        self.find: str = str(self.initial.get("find", "")).replace("\0", "").strip()[:MAX_FIND]

    @property
    def lacks(self) -> str:
        """Why there is nothing to compute for this scenario, as a sentence; empty: there is."""
        if not self.scenario.counts.get("Node"):
            return "The scenario has no nodes, so no pod can be placed."
        if self.needs_waiting and not self.scenario.time and not estimate.waiting(self.scenario):
            return "All pods of the scenario have their nodes, so there is nothing to schedule and nothing to compute."
        return ""

    @property
    def cost(self) -> estimates.Cost:
        """What the experiment costs."""
        return estimates.runs(self.scenario)

    @property
    def problem(self) -> str:
        """Why no form can ask the question about this scenario, as a sentence; empty: one can."""
        return ""


@dataclass(frozen=True)
class QuestionPage:
    """The pages of a question.

    `slug`: the name of the question in documents and URLs. `sentence`: what the question answers. `document`: returns
    the Experiment document of a valid form; may raise InputError. `context`: for the template, of an experiment whose
    `answer` may be None, and the query of the address. `chart`: the chart with this key for `experiment-chart`, None if
    there is none. `example`: returns a document that asks what the form cannot, to edit.

    The template experiments/<slug>.html extends experiments/experiment_base.html, and experiments/<slug>_form.html
    extends experiments/question_form.html, whose block `fields` has the form; without it, the fields are shown as they
    are.
    """

    slug: str
    title: str
    sentence: str
    form: type[QuestionForm]
    document: Callable[[Any, Scenario], dict[str, Any]]
    context: Callable[[Experiment, QueryDict], dict[str, Any]]
    chart: Callable[[Experiment, str, QueryDict], Figure | None] | None = None
    example: Callable[[Scenario], dict[str, Any]] | None = None


def document_of(question: str, scenario: Scenario, **spec: Any) -> dict[str, Any]:
    """Return a document that asks a question about a scenario, with its release and the configuration that a run of it
    has by default. `spec`: fields of the document, in its spelling, that replace these."""
    settings = defaults(scenario, in_time=False)
    config, _ = config_resolution.chosen(scenario, None, settings["release"], "leave_out")
    own = {"name": "uploaded", "config": config} if config else {"name": "default"}
    wanted = {
        "question": question,
        "scenarios": [{"id": scenario.pk}],
        "releases": [settings["release"]],
        "configurations": [own],
    }
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "spec": wanted | spec,
    }
