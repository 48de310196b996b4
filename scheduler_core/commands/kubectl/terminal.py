"""Text for a terminal: wrapped to its width, with colours if it has them, with escapes for control characters."""

import os
import shutil
import textwrap
from collections.abc import Sequence
from typing import IO

from scheduler_core.api.text_checks import escaped

NARROWEST = 40
COLOURS = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}


class Terminal:
    """Writes lines to a stream. Without a terminal, lines are neither wrapped nor coloured."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        is_terminal = out.isatty()
        colours = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._colours = colours
        self._width = max(shutil.get_terminal_size().columns, NARROWEST) if is_terminal else 0

    def paint(self, text: str, colour: str = "", bold: bool = False) -> str:
        """Return the text in a colour of COLOURS."""
        codes = [str(COLOURS[colour])] if colour else []
        codes += ["1"] if bold else []
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self._colours and codes else text

    def line(self, text: str = "", first: str = "", indent: str = "", colour: str = "", bold: bool = False) -> None:
        """Write a line, wrapped with an indent. `first`: the beginning of the first line, in colour and bold."""
        text = escaped(text)
        lines = [text]
        if self._width and len(first) + len(text) > self._width:
            lines = textwrap.wrap(
                text,
                self._width,
                initial_indent=" " * len(first),
                subsequent_indent=indent,
                break_on_hyphens=False,
                break_long_words=False,
            ) or [""]
            lines[0] = lines[0][len(first) :]
        print(self.paint(first, colour, bold) + lines[0], *lines[1:], sep="\n", file=self._out)

    def field(self, name: str, text: str, width: int = 12) -> None:
        """Write a named value; further lines are aligned with the first."""
        self.line(text, f"  {name}{':' if name else ' '}".ljust(width + 3), " " * (width + 3))

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Write rows with aligned columns; the first row is the heading."""
        cells = [[escaped(cell) for cell in row] for row in rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))] if cells else []
        for number, row in enumerate(cells):
            text = "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            print(self.paint(text, bold=not number), file=self._out)
