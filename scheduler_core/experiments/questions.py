"""The questions by name."""

from __future__ import annotations

from scheduler_core.experiments.buy import Buy
from scheduler_core.experiments.capacity import Capacity
from scheduler_core.experiments.compare import Compare
from scheduler_core.experiments.loss import Loss
from scheduler_core.experiments.moves import Moves
from scheduler_core.experiments.noise import Noise
from scheduler_core.experiments.packing import PackingQuestion
from scheduler_core.experiments.question import ExperimentQuestion
from scheduler_core.experiments.tune import Tune

QUESTIONS: dict[str, ExperimentQuestion] = {
    "compare": Compare(),
    "noise": Noise(),
    "buy": Buy(),
    "capacity": Capacity(),
    "loss": Loss(),
    "moves": Moves(),
    "packing": PackingQuestion(),
    "tune": Tune(),
}
