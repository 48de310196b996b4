"""Measure: `python -m benchmarks NAME [options]` prints the rows of a benchmark, a line of JSON each.

A benchmark is a module of this package with a function `measure`, which yields its rows. Parameters of `measure` are
the options; those without a default come first, without a name. With --update, the rows replace the table between
<!-- NAME --> and <!-- /NAME --> in docs/performance.md, where NAME has spaces for underscores. The module describes
this table, heading -> format of a row:

* `COLUMNS`: a line for each row.
* `FIGURES`: a line for each heading, and a column for each row; without either, each key is a heading.
* `VARIANTS`: name of a column -> options. Each is measured by --update, in a process of its own.
* `head()`: text above the table.
"""

import argparse
import inspect
import json
import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.processes import exit_when_terminated, in_new_process

FOLDER = Path(__file__).parent
DOCUMENT = FOLDER.parent / "docs/performance.md"

Row = dict[str, Any]


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("[a-z]*.py") if "\ndef measure(" in file.read_text())


def parser_of(module: ModuleType) -> argparse.ArgumentParser:
    """Return a parser with an option for each parameter of `measure`."""
    name = module.__name__.rpartition(".")[2]
    parser = argparse.ArgumentParser(
        f"python -m benchmarks {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for parameter in inspect.signature(module.measure, eval_str=True).parameters.values():
        option, default, kind = f"--{parameter.name.replace('_', '-')}", parameter.default, parameter.annotation
        if default is parameter.empty:
            parser.add_argument(parameter.name, type=kind)
        elif kind is bool:
            parser.add_argument(option, action="store_true")
        else:
            convert = kind if isinstance(kind, type) else Path
            parser.add_argument(option, type=convert, default=default, help=f"default: {default}")
    update = "replace the table of this document (docs/performance.md)"
    parser.add_argument("--update", type=Path, nargs="?", const=DOCUMENT, help=update)
    return parser


def rows_of(name: str, options: Row) -> list[Row]:
    return list(import_module(f"benchmarks.{name}").measure(**options))


def measured(name: str, module: ModuleType, options: Row, variants: bool) -> Iterator[Row]:
    if not variants:
        yield from module.measure(**options)
        return
    for variant, more in module.VARIANTS.items():
        yield from ({"variant": variant, **row} for row in in_new_process(rows_of, name, options | more))


def table(module: ModuleType, rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    if columns := getattr(module, "COLUMNS", None):
        lines = [list(columns), *([form.format(**row) for form in columns.values()] for row in rows)]
    else:
        figures = getattr(module, "FIGURES", {}) or {key: None for key in rows[0] if key != "variant"}
        lines = [["figure", *(row.get("variant", "value") for row in rows)]]
        lines += [
            [name, *(form.format(**row) if form else shown(row[name]) for row in rows)]
            for name, form in figures.items()
        ]
    align = " --- |" if len(lines[0]) == 2 else " --: |"
    texts = [f"| {' | '.join(line)} |" for line in lines]
    texts.insert(1, f"| --- |{align * (len(lines[0]) - 1)}")
    return "\n".join(texts)


def shown(figure: Any) -> str:
    if isinstance(figure, dict):
        return ", ".join(f"{name} {value}" for name, value in figure.items())
    return f"{figure:,}" if isinstance(figure, int | float) else str(figure)


def main(arguments: list[str]) -> None:
    name = arguments[0] if arguments else ""
    if name not in names():
        sys.exit(f"{__doc__}\nBenchmarks: {', '.join(names())}")
    exit_when_terminated()
    os.environ["NO_PROXY"] = "*"  # everything here is on this machine
    module = import_module(f"benchmarks.{name}")
    options = vars(parser_of(module).parse_args(arguments[1:]))
    document, rows, mark = options.pop("update"), [], name.replace("_", " ")
    pattern = re.compile(rf"<!-- {mark} -->.*(?=\n<!-- /{mark} -->)", re.DOTALL)
    if document and not pattern.search(document.read_text()):
        sys.exit(f"{document} has no lines <!-- {mark} --> and <!-- /{mark} -->")
    for row in measured(name, module, options, bool(document) and hasattr(module, "VARIANTS")):
        rows.append(row)
        print(json.dumps(row), flush=True)
    if document:
        body = "\n".join([f"<!-- {mark} -->", *filter(None, [getattr(module, "head", str)()]), table(module, rows)])
        document.write_text(pattern.sub(lambda _: body, document.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
