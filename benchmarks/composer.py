"""Measure the slowest texts of the editor: hostile shapes, small in the web process and large in a worker.

    python benchmarks/composer.py [--only WORDS]

Prints one JSON line: for each shape the milliseconds of processor time of a text that is small enough for the web
process, and for a text of the maximum size the seconds until its page has a response, with the response.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubesched_ui.editor import service  # noqa: E402
from kubesched_ui.editor.analysis import analyze  # noqa: E402
from kubesched_ui.editor.limits import MAX_BYTES, SMALL  # noqa: E402
from kubesched_ui.offload.pools import stop_pools  # noqa: E402
from scheduler_core.errors import InputError  # noqa: E402

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c}]\n"
NODE = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {a%d: b, zone: c}}\n"
DAEMONS = (
    "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d%d}\nspec: {selector: {matchLabels: {a: b}}, "
    "template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {x: y}, containers: [{name: c}]}}}\n"
)
LISTED = "- {apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {containers: [{name: c}]%s}}\n"
OURS = "apiVersion: kubesched.dev/v1alpha1\nkind: Scenario\nspec:\n"
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
ITEMS = "kind: List\napiVersion: v1\nitems:\n"
TERMS = "  affinity:\n    podAntiAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
Unit = str | Callable[[int], str]


def filled(head: str, unit: Unit, size: int, tail: str = "", most: int = 1_000_000) -> str:
    """Return as many units as fit."""
    parts, length = [head], len(head) + len(tail)
    for number in range(most):
        more = unit if isinstance(unit, str) else unit(number)
        length += len(more)
        if length > size:
            break
        parts.append(more)
    return "".join(parts) + tail


def shapes(size: int) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each shape."""
    wrong = "".join(f", nodeSelectoq{letter}: 1" for letter in "abcde")
    yield "pods", filled(ITEMS, lambda n: LISTED % (n, ""), size, most=4_900)
    yield "nodes with labels of their own", filled("", lambda n: NODE % (n, n), size, most=4_900)
    yield "misspelt fields", filled(ITEMS, lambda n: LISTED % (n, wrong), size, most=4_900)
    yield "many fields of one pod", filled(POD, lambda n: f"  nodeSelectoq{n}: 1\n", size)
    yield "nodes and DaemonSets", filled("", lambda n: DAEMONS % n if n % 2 else NODE % (n, n), size, most=4_900)
    yield "terms of affinity", filled(POD + TERMS, "      - {topologyKey: x, labelSelector: {}}\n", size)
    yield "empty objects", filled("[", "{},", size, "]", 4_900)
    yield "numbers", filled("[", "1,", size, "]")
    yield "maps", filled("[", "{},", size, "]")
    yield "deep lists", filled("a: [", "[" * 60 + "1" + "]" * 60 + ",", size, "]")
    yield "small documents", filled("", "---\na: 1\n", size, most=4_900)
    yield "anchors", filled("", lambda n: f"a{n}: &b{n} [1]\n", size)
    yield "one long word", "a: " + "x" * (size - 3)
    yield "a long number", "a: " + "1" * (size - 3)
    yield "lines of a block", "a: >\n" + " x\n" * ((size - 5) // 3)
    yield "a plan", filled(OURS + "  timeline:\n", "  - {at: 1, cordon: x}\n", size)
    yield "profiles", filled(CONFIG + "profiles:\n", lambda n: f"- {{schedulerName: s{n}}}\n", size, most=100)
    yield "configurations", filled("", "---\n" + CONFIG, size, most=4_900)
    enabled = "profiles:\n- schedulerName: a\n  plugins:\n    score:\n      enabled:\n"
    yield "plugins", filled(CONFIG + enabled, lambda n: f"      - {{name: NodeResourcesFi{n}}}\n", size)


def here(text: str) -> float:
    """Return milliseconds of processor time."""
    begun = time.process_time()
    analyze(text)
    return round((time.process_time() - begun) * 1000, 1)


def by_worker(text: str) -> tuple[float, str]:
    """Return (seconds, outcome)."""
    begun = time.perf_counter()
    try:
        service.read(text, "benchmark")
        outcome = "read"
    except InputError as error:
        outcome = str(error)
    return round(time.perf_counter() - begun, 2), outcome


def main() -> None:
    parser = argparse.ArgumentParser(description="What the slowest texts cost the composer.")
    parser.add_argument("--only", default="", help="shapes with this in their name")
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    os.environ.setdefault("KUBESCHED_VAR_DIR", tempfile.mkdtemp())
    here(CONFIG)  # lazy imports are not counted
    by_worker("#" * (SMALL + 1))
    small = {name: here(text) for name, text in shapes(SMALL) if given.only in name}
    large = {name: by_worker(text) for name, text in shapes(MAX_BYTES) if given.only in name}
    timings = {name: {"small_ms": small[name], "large_s": large[name][0], "large": large[name][1]} for name in small}
    print(json.dumps({"small_bytes": SMALL, "large_bytes": MAX_BYTES, "shapes": timings}))
    stop_pools()


if __name__ == "__main__":
    main()
