"""Texts of any size that are slow to read: hostile shapes."""

from collections.abc import Callable, Iterator

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
