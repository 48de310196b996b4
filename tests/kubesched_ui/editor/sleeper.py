"""Reads texts as editor/worker.py does, but for those that say how many seconds they take: those it sleeps over."""

from __future__ import annotations

import sys
import time
from typing import Any

from kubesched_ui.editor import worker

_told = worker.told


def told(question: dict[str, Any]) -> dict[str, Any]:
    first = question["text"].partition("\n")[0]
    if first.startswith("# sleep "):
        time.sleep(float(first.removeprefix("# sleep ")))
    return _told(question)


if __name__ == "__main__":
    worker.told = told
    worker.main(int(sys.argv[1]))
