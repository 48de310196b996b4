"""Selection and order of the nodes for which the search tries to find fixes."""

from __future__ import annotations

import numpy as np

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.suggestions.what_if import WhatIf

MOST = 200
PER_KIND = 2  # nodes per set of reasons
LABELS = 8  # maximum number of labels that distinguish kinds of nodes


def worth_trying(what_if: WhatIf, trace: CycleTrace) -> list[str]:
    """Return the best nodes of each kind of rejection, the fewest obstacles first. `trace`: of a cycle with Filter."""
    names, nodes = what_if.cluster.nodes.names, what_if.cluster.nodes.nodes
    columns = [v.codes.astype(np.int64) for v in trace.verdicts.values() if v.codes is not None]
    table = np.array(columns, np.int64).reshape(len(columns), len(names))
    refusals = (table > 0).sum(axis=0)
    chosen: dict[object, int] = {}
    best: list[tuple[bool, int, int, str]] = []
    wanted = _wanted_keys(what_if)
    for row in np.lexsort((_lacks(what_if), refusals)).tolist():
        node = nodes[row]
        kind = (table[:, row].tobytes(), tuple(node.metadata.labels.get(key) for key in wanted))
        if chosen.get(kind, 0) >= PER_KIND or len(best) >= MOST:
            continue
        chosen[kind] = chosen.get(kind, 0) + 1
        best.append((not node.ready, int(refusals[row]), chosen[kind], names[row]))
    ready = [entry for entry in best if not entry[0]] or best
    return [name for *_, name in sorted(ready, key=lambda entry: (entry[1], entry[2]))]


def _wanted_keys(what_if: WhatIf) -> list[str]:
    """Return the labels by which the pod selects nodes."""
    spec = what_if.pod.pod.spec
    keys = list(spec.node_selector or {})
    node = spec.affinity.node_affinity if spec.affinity else None
    for term in node.required.node_selector_terms if node is not None and node.required is not None else ():
        keys += [req.key for req in term.match_expressions]
    return keys[:LABELS]


def _lacks(what_if: WhatIf) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the missing resources of each node, relative to the requests."""
    nodes, pod = what_if.cluster.nodes, what_if.pod
    total = np.zeros(len(nodes), np.float64)
    for name, requested in pod.requests.items():
        if requested and name in nodes.allocatable:
            left = nodes.allocatable[name] - nodes.requested[name]
            total += np.clip((requested - left) / requested, 0.0, None)
    total += 2.0 * (nodes.pod_count >= nodes.allowed_pods)
    return total
