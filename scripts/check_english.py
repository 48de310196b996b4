"""Find markers of unidiomatic English in docstrings, comments, messages, documentation and templates.

    python scripts/check_english.py [PATH ...]

Prints `file:line: [marker] text` for each hit and exits with 1 if there is any. The markers are words and phrases that
plain technical English does not need. Text in backticks, URLs and CSS selectors are not checked.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

PATHS = (
    *("kubesched_ui", "scheduler_core", "tests", "scripts", "benchmarks"),
    *("docs", "findings", "templates", "static/js", "README.md", "CONTRIBUTING.md"),
)
SUFFIXES = (".py", ".js", ".md", ".html")
MARKERS = re.compile(
    r"""\b(
    told | untold | whoever | whomever | nobody('s)? | somebody('s)? | beside | how-manieth
    | what\ became | what\ becomes\ of | has\ it\ do | take[sn]?\ (it|them)\ away | in\ one\ pass
    | (is|are|was|were|be)\ (said|told) | hears | heard
    | (runs?|played|clock|scenarios?)\ in\ time
    | comes?\ to\ the\ same | has\ to\ go | gave\ its\ place | asks\ \d+(?!\ questions) | let\ in | at\ the\ door
    | turn(s|ed)?\ away | not\ there\ any\ more | is\ another\ one
    | vessels? | reel | lookout | by\ hand\ of | of\ ours
    | Those\ who | Who\ (reads|asks|is|has|looks)
    )\b | ,\ too[,.;]""",
    re.X,
)
# The same across lines and quotes. Only modules with such text are parsed: parsing all of them takes seven seconds.
ANYWHERE = re.compile(MARKERS.pattern.replace("\\ ", r"\W+(f\W)?"), re.X)
IGNORED = re.compile(
    r"""`[^`]*` | https?://\S+ | (?<!\S)[.#][\w.-]+ | \{[%{].*?[%}]\}
    | \b(class|id|for|name|data-[\w-]+|aria-labelledby)="[^"]*" | <[^>]*>""",
    re.X,
)
JS_TEXT = re.compile(r"""(?:^|\s)//.* | "[A-Za-z][^"]*\ [^"]*" """, re.X)


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of the docstrings, comments and messages (strings with a space) of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from enumerate(node.value.split("\n"), node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of what people read in a file."""
    source = path.read_text()
    if path.suffix == ".py":
        if ANYWHERE.search(source):
            yield from python_texts(source)
        return
    for number, line in enumerate(source.split("\n"), 1):
        if path.suffix != ".js":
            yield number, line
        else:
            yield from ((number, found[0]) for found in JS_TEXT.finditer(line))


def hits(paths: list[str]) -> Iterator[str]:
    """Yield `file:line: [marker] text` for each marker in the files that git tracks below `paths`."""
    files = subprocess.run(["git", "ls-files", *paths], capture_output=True, text=True, check=True).stdout.split()
    for name in files:
        if not name.endswith(SUFFIXES) or "/migrations/" in name or Path(name).samefile(__file__):
            continue
        for number, line in sorted(set(texts(Path(name)))):
            for found in MARKERS.finditer(IGNORED.sub("", line)):
                yield f"{name}:{number}: [{found[0].strip()}] {line.strip()}"


if __name__ == "__main__":
    found = list(hits(sys.argv[1:] or list(PATHS)))
    print("\n".join([*found, f"{len(found)} markers"]))
    sys.exit(bool(found))
