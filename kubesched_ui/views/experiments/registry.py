"""The pages of the questions by name, in the order of the cards."""

from typing import Any

from kubesched_ui.models import Scenario
from kubesched_ui.views.experiments import buy, capacity, compare, loss, moves, noise, packing, tune
from kubesched_ui.views.experiments.question_page import QuestionForm, QuestionPage

_ORDER = (compare, noise, capacity, loss, moves, buy, tune, packing)
PAGES: dict[str, QuestionPage] = {module.PAGE.slug: module.PAGE for module in _ORDER}


def page_of(question: str) -> QuestionPage:
    """Return the page of a question. One without a page of its own has only the table of cells."""
    return PAGES.get(question) or QuestionPage(question, question.capitalize(), "", QuestionForm, _no_form)


def _no_form(form: QuestionForm, scenario: Scenario) -> dict[str, Any]:
    raise NotImplementedError("this question is asked by a document")
