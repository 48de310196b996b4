"""Which configuration a scheduler has, by its decisions.

Each decision multiplies the likelihood of a candidate by the chance that this candidate chooses the same node: one of
its best nodes. A small share goes to any node, because a few decisions are made on another state than the one compared.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

OTHER_STATE = 0.02  # share of decisions that any candidate can make
CLEAR = math.log(1000)  # log of the ratio of likelihoods that decides between two candidates
LEAST = 6  # decisions that differ between candidates, before which no other configuration counts
ENOUGH = 40  # decisions that differ between candidates, after which the most likely one counts
MOST = 3  # candidates by which a decision is checked in full
WINDOW = 3 * CLEAR  # most by which a candidate can be less likely than another: so new decisions outweigh old ones
CHECKED = 8  # once the configuration is clear, every CHECKED-th decision is compared by all candidates, or
FEW_NODES = 500  # each one if there are few nodes
LEAST_SHOWN = 0.001  # share of a reduced candidate that is reported
RARE = -3.0  # log of the disadvantage of a reduced candidate
PRIOR = 2.0  # log of the advantage of the first candidate: the default, which most clusters have, or what was given


class ConfigurationChange(NamedTuple):
    """The scheduler decides by another candidate since a decision. `resource_version`, `time`: of that decision."""

    resource_version: int
    time: float
    before: str
    after: str


class Likelihoods:
    """The likelihoods of candidates.

    `first`: the candidate that counts until decisions say another one; `given`: it is that of the cluster's
    configuration, and not only a guess. `reduced`: candidates that are reported only if they are likely.
    `changes`: those of the scheduler's configuration that the decisions show.
    """

    def __init__(self, names: Sequence[str], first: str, given: bool, reduced: Collection[str] = ()) -> None:
        self.leader = first
        self.informative = 0  # number of decisions that differ between candidates
        self.changes: list[ConfigurationChange] = []
        self._reduced = frozenset(reduced)
        self._number = 0
        self._clear = given or len(names) == 1
        self._prior = {name: RARE if name in self._reduced else 0.0 for name in names} | {first: PRIOR}
        self._evidence = dict.fromkeys(names, 0.0)
        self._total = dict.fromkeys(names, 0.0)
        self._choices = dict.fromkeys(names, 0)
        self._lead = _Lead(self._now, first)

    @property
    def clear(self) -> bool:
        """Whether the configuration is clear enough to check decisions by it alone."""
        return self._clear

    def most_likely(self) -> str:
        """Return the candidate with the highest likelihood now, which is plausible."""
        now = self._now
        return self.leader if self._clear else max(now, key=now.__getitem__)

    def compared(self, nodes: int) -> bool:
        """Whether to compare the next decision by all candidates."""
        self._number += 1
        return not self._clear or nodes <= FEW_NODES or self._number % CHECKED == 0

    def plausible(self) -> set[str]:
        """Return the candidates by which a decision is checked in full."""
        if self._clear:
            return {self.leader}
        now = self._now
        best = max(now.values())
        likely = sorted(now, key=now.__getitem__, reverse=True)[:MOST]
        return {self.leader, *(name for name in likely if now[name] > best - 2 * CLEAR)}

    def add(
        self, chances: Mapping[str, float], nodes: int, choices: Mapping[str, bytes], version: int, time: float
    ) -> None:
        """Add a decision.

        `chances`: candidate -> chance that it chooses the node. `nodes`: feasible nodes. `choices`: candidate -> its
        best nodes, comparable. `version`, `time`: of the decision.
        """
        self._choices = {name: hash((before, choices[name])) for name, before in self._choices.items()}
        if len(set(chances.values())) == 1:
            return
        self.informative += 1
        for name, chance in chances.items():
            value = math.log((1 - OTHER_STATE) * chance + OTHER_STATE / nodes)
            self._total[name] += value
            self._evidence[name] += value
        best = max(self._evidence.values())
        self._evidence = {name: max(value, best - WINDOW) for name, value in self._evidence.items()}
        now = self._now
        self._lead.add(now, version, time)
        first = max(now, key=now.__getitem__)
        if self.informative >= LEAST and now[first] - now[self.leader] > (2 * CLEAR if self._clear else CLEAR):
            if began := self._lead.overtaken(first):
                self.changes.append(ConfigurationChange(*began, self.leader, first))
            self.leader = first
            self._lead = _Lead(now, first)
        others = [now[name] for name, choice in self._choices.items() if choice != self._choices[first]]
        ahead = self.informative >= LEAST and now[first] - max(others, default=-math.inf) > CLEAR
        self._clear = self._clear or ahead or self.informative >= ENOUGH

    @property
    def _now(self) -> dict[str, float]:
        return {name: value + self._prior[name] for name, value in self._evidence.items()}

    def at(self, version: int) -> str:
        """Return the candidate that counted for a decision at a resourceVersion."""
        return next((change.before for change in self.changes if version < change.resource_version), self.leader)

    def same_choices(self) -> dict[str, str]:
        """Return candidate -> the first candidate that has chosen the same nodes in all decisions."""
        return {name: first for name, first in self._same().items() if name not in self._reduced}

    def _same(self) -> dict[str, str]:
        first: dict[int, str] = {}
        return {name: first[value] for name, value in self._choices.items() if first.setdefault(value, name) != name}

    def shares(self) -> dict[str, float]:
        """Return candidate -> its likelihood after all decisions, as share of the sum over the candidates.

        Those with the same choices as an earlier one are left out.
        """
        best = max(self._total.values())
        relative = {name: math.exp(value - best) for name, value in self._total.items()}
        same = self._same() if self.informative else dict.fromkeys(self._reduced, "")
        different = {name: value for name, value in relative.items() if name not in same}
        whole = sum(different.values())
        shares = {name: round(value / whole, 6) for name, value in different.items()}
        return {name: value for name, value in shares.items() if value >= LEAST_SHOWN or name not in self._reduced}


class _Lead:
    """Since when other candidates gain on the one that counts."""

    def __init__(self, now: Mapping[str, float], leader: str) -> None:
        self._leader = leader
        self._lowest = {name: value - now[leader] for name, value in now.items()}
        self._since: dict[str, tuple[int, float] | None] = dict.fromkeys(now)

    def add(self, now: Mapping[str, float], version: int, time: float) -> None:
        """Add the likelihoods after a decision."""
        for name, value in now.items():
            behind = value - now[self._leader]
            if behind <= self._lowest[name]:
                self._lowest[name], self._since[name] = behind, None
            elif self._since[name] is None:
                self._since[name] = version, time

    def overtaken(self, name: str) -> tuple[int, float] | None:
        """Return the first decision since which a candidate gains; None if the leader was never clearly ahead."""
        return self._since[name] if self._lowest[name] < -CLEAR else None
