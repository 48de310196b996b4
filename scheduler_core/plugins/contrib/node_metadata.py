"""NodeMetadata: scores by a number or a time in a label or an annotation of the node.

Source: sigs.k8s.io/scheduler-plugins, pkg/nodemetadata.
"""

import re
from typing import Any, Self

import numpy as np

from scheduler_core.api.objects import Node, timestamp
from scheduler_core.api.plugin_args import Complain, PluginArgs
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import extreme
from scheduler_core.provenance.tree import Tree, constant, divide_int, multiply, subtract, total

LABEL, ANNOTATION = "Label", "Annotation"
NUMBER, TIMESTAMP = "Number", "Timestamp"
RFC3339 = "2006-01-02T15:04:05Z07:00"  # Go's layout
STRATEGIES = {"Highest": NUMBER, "Lowest": NUMBER, "Newest": TIMESTAMP, "Oldest": TIMESTAMP}
_INVALID = np.iinfo(np.int64).min
_LONGEST = (2**63 - 1) / 1e9  # seconds of a time.Duration
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_HEX_FLOAT = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


class NodeMetadataArgs(PluginArgs, frozen=True, kw_only=True):
    """Which label or annotation counts, and whether its highest or lowest number or its newest or oldest time does."""

    metadata_key: str = ""
    metadata_source: str = ""
    metadata_type: str = ""
    scoring_strategy: str = ""
    timestamp_format: str = ""

    def finish(self, complain: Complain) -> Self:
        if not self.metadata_key:
            complain("metadataKey", 'Invalid value: "": metadataKey cannot be empty')
        for field, value, choices in (
            ("metadataSource", self.metadata_source, f'either "{LABEL}" or "{ANNOTATION}"'),
            ("metadataType", self.metadata_type, f'either "{NUMBER}" or "{TIMESTAMP}"'),
            ("scoringStrategy", self.scoring_strategy, 'one of "Highest", "Lowest", "Newest", or "Oldest"'),
        ):
            if f'"{value}"' not in choices:
                complain(field, f'Invalid value: "{value[:80]}": {field} must be {choices}')
        if (kind := STRATEGIES[self.scoring_strategy]) != self.metadata_type:
            both = " and ".join(f'"{name}"' for name, its in STRATEGIES.items() if its == kind)
            problem = f'scoringStrategy {both} are only valid for metadataType "{kind}"'
            complain("scoringStrategy", f'Invalid value: "{self.scoring_strategy}": {problem}')
        if self.metadata_type == TIMESTAMP and self.timestamp_format not in ("", RFC3339):
            complain("timestampFormat", f"only {RFC3339} is simulated, got {self.timestamp_format[:80]}")
        return self


class NodeMetadata(fwk.ScorePlugin):
    name = "NodeMetadata"
    args_class = NodeMetadataArgs
    in_tree = False

    @classmethod
    def describe_best(cls, args: Any) -> str:
        return f"the one with the {args.scoring_strategy.lower()} {args.metadata_key}"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the number or the age in seconds, negative if less is better; the least integer if there is none."""
        column: fwk.Int64 = np.array([self._raw(node) for node in self.cluster.nodes.nodes], np.int64)
        return column[rows]

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        """Scale linearly from 1 to 100; equal scores become 1, and nodes without a value 0. Integers wrap, as in Go."""
        valid = scores != _INVALID
        scaled: fwk.Int64 = valid.astype(np.int64)
        if valid.any():
            lowest, highest = scores[valid].min(keepdims=True), scores[valid].max(keepdims=True)
            span, above = highest - lowest, (scores[valid] - lowest) * (fwk.MAX_NODE_SCORE - 1)
            if span:
                scaled[valid] += np.sign(above) * np.sign(span) * (np.abs(above) // np.abs(span))
        return scaled

    def sign(self, pod: PodInfo) -> dict[str, Any] | None:
        return {}

    def _raw(self, node: Node) -> int:
        of_label = self.args.metadata_source == LABEL
        text = (node.metadata.labels if of_label else node.metadata.annotations).get(self.args.metadata_key)
        if text is None:
            return _INVALID
        value = parse_float(text) if self.args.metadata_type == NUMBER else self._age(text)
        if value is None or not -(2.0**63) < value < 2.0**63:
            return _INVALID
        return -int(value) if self.args.scoring_strategy in ("Lowest", "Newest") else int(value)

    def _age(self, text: str) -> float | None:
        if not _TIME.fullmatch(text):
            return None
        try:
            return max(-_LONGEST, min(_LONGEST, self.cluster.now() - timestamp(text.replace(",", "."))))
        except InputError:
            return None

    # ---- explanations

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        raw, key = self._raw(view.node), self.args.metadata_key
        if raw == _INVALID:
            return constant(raw, f"no value in {key}").with_text(f"{view.node.name} has no value that counts in {key}")
        where = "labels" if self.args.metadata_source == LABEL else "annotations"
        leaf = view.holds(view.node, "metadata", where, key, label=key)
        leaf.value = raw
        return leaf.with_text(f"{raw} = {key} of {view.node.name}, {self.args.scoring_strategy.lower()} first")

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        valid = scores[scores != _INVALID]
        if raw.value == _INVALID:
            return constant(0, "MinNodeScore").with_text("0: the node has no value")
        if valid.min() == valid.max():
            return constant(1, "above MinNodeScore").with_text("1: all nodes with a value have the same")
        least = constant(int(valid.min()), "lowest raw score")
        span = subtract(extreme(view, scores, "max"), least, "highest less lowest")
        above = multiply(subtract(raw, least, "above the lowest"), constant(fwk.MAX_NODE_SCORE - 1, "MaxNodeScore - 1"))
        tree = total([divide_int(above, span), constant(1, "above nodes without a value")])
        return tree.with_text(f"{tree.value} = {raw.value} between the lowest and the highest raw score")


def parse_float(text: str) -> float | None:
    """Return strconv.ParseFloat of the text; None if it fails or is no finite number."""
    if _FLOAT.fullmatch(text):
        number = float(text)
    elif _HEX_FLOAT.fullmatch(text):
        try:
            number = float.fromhex(text)
        except OverflowError:
            return None
    else:
        return None
    return number if np.isfinite(number) else None
