"""Which configuration a scheduler has, by its decisions.

Each decision multiplies the likelihood of a candidate by the chance that this candidate chooses the same node: one of
its best nodes. A small share goes to any node, because a few decisions are made on another state than the one compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

OTHER_STATE = 0.02  # share of decisions that any candidate can make
CLEAR = math.log(1000)  # log of the ratio of likelihoods that decides between two candidates
LEAST = 6  # decisions that differ between candidates, before which no other configuration counts
ENOUGH = 40  # decisions that differ between candidates, after which the most likely one counts
MOST = 3  # candidates by which a decision is checked in full
MEMORY = 0.995  # weight of a decision relative to the next one, so that a change of the configuration is noticed
CHECKED = 8  # once the configuration is clear, every CHECKED-th decision is compared by all candidates, or
FEW_NODES = 500  # each one if there are few nodes
PRIOR = 2.0  # log of the advantage of the default, which most clusters have


class Likelihoods:
    """The likelihoods of candidates. `first`: the candidate that counts until decisions say another one; `given`: it is
    that of the cluster's configuration, and not only a guess."""

    def __init__(self, names: Sequence[str], first: str, given: bool) -> None:
        self.leader = first
        self.informative = 0  # number of decisions that differ between candidates
        self._number = 0
        self._clear = given or len(names) == 1
        advantage = 2 * CLEAR if given else PRIOR
        self._prior = {name: advantage if name == first else 0.0 for name in names}
        self._total = dict.fromkeys(names, 0.0)
        self._recent = dict.fromkeys(names, 0.0)
        self._choices = dict.fromkeys(names, 0)

    @property
    def clear(self) -> bool:
        """Whether the configuration is clear enough to check decisions by it alone."""
        return self._clear

    def most_likely(self) -> str:
        """Return the candidate with the highest likelihood now, which is plausible."""
        now = self._now()
        return self.leader if self._clear else max(now, key=now.__getitem__)

    def compared(self, nodes: int) -> bool:
        """Whether to compare the next decision by all candidates."""
        self._number += 1
        return not self._clear or nodes <= FEW_NODES or self._number % CHECKED == 0

    def plausible(self) -> set[str]:
        """Return the candidates by which a decision is checked in full."""
        if self._clear:
            return {self.leader}
        now = self._now()
        best = max(now.values())
        likely = sorted(now, key=now.__getitem__, reverse=True)[:MOST]
        return {self.leader, *(name for name in likely if now[name] > best - 2 * CLEAR)}

    def add(self, chances: Mapping[str, float], nodes: int, choices: Mapping[str, bytes]) -> None:
        """Add a decision.

        `chances`: candidate -> chance that it chooses the node. `nodes`: feasible nodes. `choices`: candidate -> its
        best nodes, comparable.
        """
        self._choices = {name: hash((before, choices[name])) for name, before in self._choices.items()}
        if len(set(chances.values())) == 1:
            return
        self.informative += 1
        for name, chance in chances.items():
            value = math.log((1 - OTHER_STATE) * chance + OTHER_STATE / nodes)
            self._total[name] += value
            self._recent[name] = self._recent[name] * MEMORY + value
        now = self._now()
        first, *others = sorted(now, key=now.__getitem__, reverse=True)
        if self.informative >= LEAST and now[first] - now[self.leader] > (2 * CLEAR if self._clear else CLEAR):
            self.leader = first
        ahead = self.informative >= LEAST and (not others or now[first] - now[others[0]] > CLEAR)
        self._clear = self._clear or ahead or self.informative >= ENOUGH

    def _now(self) -> dict[str, float]:
        return {name: value + self._prior[name] for name, value in self._recent.items()}

    def same_choices(self) -> dict[str, str]:
        """Return candidate -> the first candidate that has chosen the same nodes in all decisions."""
        first: dict[int, str] = {}
        return {name: first[value] for name, value in self._choices.items() if first.setdefault(value, name) != name}

    def shares(self) -> dict[str, float]:
        """Return candidate -> its likelihood after all decisions, as share of the sum over the candidates.

        Those with the same choices as an earlier one are left out.
        """
        best = max(self._total.values())
        relative = {name: math.exp(value - best) for name, value in self._total.items()}
        same = self.same_choices() if self.informative else {}
        different = {name: value for name, value in relative.items() if name not in same}
        whole = sum(different.values())
        return {name: round(value / whole, 6) for name, value in different.items()}
