"""The pages of the questions by name, in the order of the cards: `PAGE` of the module of this package with its name."""

from importlib import import_module

from kubesched_ui.views.experiments.question_page import QuestionPage
from scheduler_core.experiments.questions import QUESTIONS

PAGES: dict[str, QuestionPage] = {name: import_module(f"{__package__}.{name}").PAGE for name in QUESTIONS}
