"""Renders the text of lessons: Markdown with computed figures, `{{ expression }}`. HTML is not allowed."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.expressions import Functions, evaluate, functions_of
from kubesched_ui.lessons.formatting import WORDS, shown

FIGURE = re.compile(r"\{\{(.{0,1000}?)\}\}", re.S)  # bounded: the time for unclosed braces
MARK = re.compile(r"\[\^([a-z0-9-]{1,40})\]")  # what a sentence rests on, see statements.py; not shown
_HOLDER = re.compile("\ue000(\\d+)\ue001")
_CODE = re.compile(r"```.*?```|`([^`]*)`", re.S)
# Digits that belong to names and are not figures.
PLAIN = re.compile(r"\b(v1|v1beta1|v1beta2|v1beta3|v1alpha1|v1alpha2|k8s)\b")
_NUMBER = re.compile(rf"\d|\b({'|'.join(WORDS[2:])}|hundred|thousand)\b", re.I)
_QUANTITY = re.compile(r"[\d.,]+[a-zA-Z%]*")

# Functions that only reformat a value.
SHAPING = frozenset(("word", "ordinal", "cut", "rounded", "smallest", "root", "amount", "plain", "count"))

_markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "html_block", "html_inline"])


@dataclass(frozen=True)
class MarkdownProblem:
    """A problem in a text, and its line, counted from 0."""

    line: int
    message: str


def figures(text: str) -> list[tuple[str, int]]:
    """Return (expression, line from 0) for every figure."""
    return [(found[1].strip(), text.count("\n", 0, found.start())) for found in FIGURE.finditer(text)]


def without_marks(text: str) -> str:
    """Return the text as learners see it."""
    return MARK.sub("", text)


def render(text: str, facts: Functions) -> SafeString:
    """Render the text as HTML. Raises Unknown."""
    return _render(text, facts, _markdown.render)


def render_line(text: str, facts: Functions) -> SafeString:
    """Render one line as HTML without a paragraph. Raises Unknown."""
    return _render(text, facts, _markdown.renderInline)


def plain(text: str, facts: Functions) -> str:
    """Return the text with its figures filled in, without rendering Markdown. Raises Unknown."""
    return FIGURE.sub(lambda found: shown(evaluate(found[1], facts)), without_marks(text))


def _render(text: str, facts: Functions, markdown: Callable[[str], str]) -> SafeString:
    found: list[str] = []

    def hold(figure: re.Match[str]) -> str:
        found.append(shown(evaluate(figure[1], facts)))
        return f"\ue000{len(found) - 1}\ue001"

    made = markdown(FIGURE.sub(hold, re.sub("[\ue000\ue001]", "", without_marks(text))))
    return mark_safe(_HOLDER.sub(lambda at: f'<span class="figure">{escape(found[int(at[1])])}</span>', made))


def problems(text: str, words: set[str], verbatim: str = "") -> list[MarkdownProblem]:
    """Find numbers that are not computed. `words`: names that may appear as code. `verbatim`: the text that every code
    block must be a part of."""
    rest = FIGURE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), without_marks(text))
    found: list[MarkdownProblem] = []

    def look(code: re.Match[str]) -> str:
        line = text.count("\n", 0, code.start())
        if code[1] is None:
            inner = code[0].strip("`").partition("\n")[2].strip("\n")
            if inner not in verbatim:
                found.append(MarkdownProblem(line, "a code block must be a verbatim part of docs/writing-plugins.md"))
        elif re.search(r"\d", code[1]) and not _is_name(code[1], words):
            found.append(
                MarkdownProblem(line, f"`{code[1][:60]}` has a digit and is not a name in the scenario; compute it")
            )
        return re.sub(r"[^\n]", " ", code[0])

    rest = PLAIN.sub("", _CODE.sub(look, rest))
    for number in _NUMBER.finditer(rest):
        line = rest.count("\n", 0, number.start())
        found.append(MarkdownProblem(line, f"{number[0]!r} is not computed; write {{{{ expression }}}}"))
    return found


def _is_name(code: str, words: set[str]) -> bool:
    """Whether inline code names something in the scenario and is not a quantity."""
    parts = [code] if code in words else [part for part in re.split(r"[=/ ]", code) if part]
    return all(part in words and not _QUANTITY.fullmatch(part) for part in parts)


def by_hand(expression: str) -> bool:
    """Whether an expression reads nothing from run, scenario or core, so that its value is a constant of the author."""
    return functions_of(expression) <= SHAPING


def checked(text: str, facts: Functions) -> int:
    """Compute every figure of a text and return their number. Raises Unknown, prefixed with the line."""
    for expression, line in figures(text):
        try:
            if by_hand(expression):
                raise Unknown("does not use the run, the scenario or an upstream constant")
            shown(evaluate(expression, facts))
        except Unknown as problem:
            raise type(problem)(f"{line}\0{{{{ {expression} }}}} {problem}") from None
    return len(figures(text))
