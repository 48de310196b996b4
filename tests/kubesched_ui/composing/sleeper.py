"""Reads texts as composing/process.py does, but for those that say how many seconds they take: those it sleeps over."""

from __future__ import annotations

import sys
import time
from typing import Any

from kubesched_ui.composing import process

_told = process.told


def told(question: dict[str, Any]) -> dict[str, Any]:
    first = question["text"].partition("\n")[0]
    if first.startswith("# sleep "):
        time.sleep(float(first.removeprefix("# sleep ")))
    return _told(question)


if __name__ == "__main__":
    process.told = told
    process.main(int(sys.argv[1]))
