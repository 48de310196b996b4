"""The sentences of a lesson's text, and what each of them rests on.

A marker after a sentence, `[^name]`, names a claim or a source of the head. It covers the sentences before it in its
paragraph, up to the marker before. A claim is an expression that must be true. A source names files with a release.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kubesched_ui.lessons.changes import ChangedRuns
from kubesched_ui.lessons.expressions import functions_of
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.markdown import FIGURE, MARK, without_marks
from kubesched_ui.runtime.paths import RESOURCES
from scheduler_core.releases import RELEASES

Kind = Literal["computed", "by release", "by source", "instruction", ""]

UPSTREAM = "https://github.com/kubernetes/kubernetes/blob/v{}/{}"
ELSEWHERE = re.compile(r"(?:github\.com/)?(kubernetes-sigs/[\w.-]+|kubernetes/[\w.-]+):")  # another repository

_CODE = re.compile(r"```.*?```", re.S)
_HELD = re.compile(r"\{\{.{0,1000}?\}\}|`[^`]*`", re.S)
_HOLDER = re.compile("\ue000(\\d+)\ue001")
_ITEM = re.compile(r"^\s*([*-]|\d+\.)\s+")
_SENTENCE = re.compile(r"\S.*?[.!?][*)\"”]*(?:\[\^[a-z0-9-]+\])*(?=\s|$)|\S.*$", re.S)
# Imperatives tell the reader what to do, so they state nothing.
_INSTRUCTION = re.compile(
    r"(Adapt|Add|Answer|Begin|Change|Check|Choose|Compare|Compute|Correct|Count|Find|Follow|For each \w+, read|Go back"
    r"|Look|Open|Read|Remember|Repair|Then, for each \w+, take|Therefore, check|Try|Use)\b"
)

# Functions of the expression language whose value depends on a release or a constant of upstream alone.
RELEASES_ONLY = frozenset(
    ("does", "gate", "since", "until", "default_weight", "default_plugins", "release", "count", "word", "const")
)


@dataclass
class Sentence:
    """A sentence with its first line, counted from 0. `marks`: names of the claims or sources that it rests on."""

    text: str
    line: int
    marks: tuple[str, ...] = ()


class ClaimFacts(Facts):
    """The facts that a claim may use: also those of a run with a changed field."""

    def what_if(self, field: str, text: str) -> Facts:
        return ClaimFacts(ChangedRuns(self.runs, field, text), self.focus)


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a Markdown text, without tables and code blocks."""
    text = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(found[0])
        return f"\ue000{len(held) - 1}\ue001" + "\n" * found[0].count("\n")

    found: list[Sentence] = []
    for start, block in _blocks(_HELD.sub(hold, text)):
        found += _marked(block, start)
    for one in found:
        one.text = _HOLDER.sub(lambda at: held[int(at[1])], one.text)
    return found


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the paragraphs, and the line of each. A paragraph that ends with a colon continues with the next one."""
    block: list[str] = []
    start = 0
    for number, line in enumerate([*text.split("\n"), ""]):
        if line.strip():
            start = start if block else number
            block.append("" if line.lstrip().startswith("|") else line)
        elif block and not _ends_with_colon(block):
            yield start, block
            block = []
        elif block:
            block.append("")
    if block:
        yield start, block


def _ends_with_colon(block: list[str]) -> bool:
    return next((line for line in reversed(block) if line.strip()), "").rstrip().endswith(":")


def _marked(block: list[str], start: int) -> list[Sentence]:
    """Return the sentences of a paragraph, each with the markers that cover it."""
    parts: list[tuple[int, list[str]]] = []
    for number, line in enumerate(block):
        if not parts or _ITEM.match(line) or not line.strip():
            parts.append((number, []))
        parts[-1][1].append(_ITEM.sub("", line, 1))
    found: list[Sentence] = []
    for number, lines in parts:
        joined = "\n".join(lines)
        for match in _SENTENCE.finditer(joined):
            text = re.sub(r"\s+", " ", match[0])
            at = start + number + joined.count("\n", 0, match.start())
            if re.search(r"\w", without_marks(text)) or "\ue000" in text:
                found.append(Sentence(without_marks(text), at, tuple(MARK.findall(text))))
    marks: tuple[str, ...] = ()
    for one in reversed(found):
        marks = one.marks = one.marks or marks
    return found


def kind_of(sentence: Sentence, claims: Mapping[str, str]) -> Kind:
    """Return what a sentence rests on, "" for nothing."""
    if _INSTRUCTION.match(sentence.text) or sentence.text.endswith("?"):
        return "instruction"
    if any(not is_by_release(figure) for figure in FIGURE.findall(sentence.text)):
        return "computed"
    expressions = [claims[mark] for mark in sentence.marks if mark in claims]
    if any(not is_by_release(one) for one in expressions):
        return "computed"
    return "by release" if expressions else "by source" if sentence.marks else ""


def is_by_release(expression: str) -> bool:
    """Whether an expression reads only releases, and nothing of a run or of constants. Raises Unknown."""
    called = functions_of(expression)
    return called <= RELEASES_ONLY and "const" not in called


def source_problem(source: str) -> str:
    """Return what is wrong with a source, or ""."""
    for part in source.split(";"):
        file, _, release = part.strip().rpartition(" ")
        if not file:
            if not (RESOURCES / release).is_file():
                return f"{release[:120]!r} is no file of KubeSched; an upstream file needs its release, as `FILE 1.36`"
        elif release.lstrip("v") not in RELEASES and not ELSEWHERE.match(file):
            return f"{release[:40]!r} is no release; write a source as `FILE 1.36`"
    return ""


@dataclass(frozen=True)
class Reference:
    """A source as the page shows it. `link`: "" for a file of KubeSched."""

    text: str
    link: str


def references(source: str) -> Iterator[Reference]:
    """Yield the files of a source."""
    for part in source.split(";"):
        file, _, release = part.strip().rpartition(" ")
        if not file:
            continue
        if elsewhere := ELSEWHERE.match(file):
            path = file[elsewhere.end() :]
            yield Reference(
                f"{elsewhere[1]} {path}, {release}", f"https://github.com/{elsewhere[1]}/blob/{release}/{path}"
            )
        else:
            yield Reference(f"{file}, {release}", UPSTREAM.format(f"{release}.0", file))


def shown_references(texts: Iterable[str], sources: Mapping[str, str]) -> Iterator[Reference]:
    """Yield the upstream files that the sentences of these texts rest on, each once."""
    marks = dict.fromkeys(mark for text in texts for mark in MARK.findall(text))
    yield from dict.fromkeys(one for mark in marks if mark in sources for one in references(sources[mark]))
