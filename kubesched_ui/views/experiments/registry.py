"""The pages of the questions by name, in the order of the cards."""

from kubesched_ui.views.experiments import buy, capacity, compare, loss, moves, noise, packing, tune
from kubesched_ui.views.experiments.question_page import QuestionPage

_ORDER = (compare, noise, capacity, loss, moves, buy, tune, packing)
PAGES: dict[str, QuestionPage] = {module.PAGE.slug: module.PAGE for module in _ORDER}
