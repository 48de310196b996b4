"""Order of the work of experiments. Messages only wake workers; this module decides in the database what is next.

Experiments whose round is to be planned or summarised are first. Then users take turns cell by cell: the user with the
fewest cells in computation is first, then the one whose last cell began the longest ago. Of one user's experiments, the
oldest is first.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.models import Work, silent
from kubesched_ui.runs.queue import NEVER, UserKey
from kubesched_ui.runtime.advisory_lock import lock_until_commit

LOADED = ExperimentCell.objects.select_related("experiment").defer("experiment__document", "experiment__answer")


def user_key(owner_id: int | None, scenario_id: int) -> UserKey:
    """Return the party that takes turns: the owner, or the scenario if the owner is unknown."""
    return ("user", owner_id) if owner_id is not None else ("scenario", scenario_id)


def claim_experiment(token: str) -> Experiment | None:
    """Claim the oldest experiment that is to be planned or summarised; None if there is none."""
    for number in Experiment.everything.ready().order_by("pk").values_list("pk", flat=True):
        if claimed := Experiment.everything.claim(number, token):
            return claimed
    return None


def claim_cell(token: str) -> ExperimentCell | None:
    """Claim the next cell for the worker `token`; None if none is waiting."""
    cells = ExperimentCell.objects.filter(experiment=OuterRef("pk")).claimable()
    waiting = Experiment.everything.filter(Exists(cells), state=Work.State.RUNNING)
    if not waiting.exists():
        return None
    with transaction.atomic():
        lock_until_commit("cells of experiments")
        active = Counter(user_key(*row) for row in _computing())
        found = list(waiting.order_by("pk").values_list("pk", "owner_id", "scenario_id", "claimed_at"))
        last: dict[UserKey, datetime] = {}
        for _, owner, scenario, at in found:
            user = user_key(owner, scenario)
            last[user] = max(last.get(user, NEVER), at or NEVER)
        users = {number: user_key(owner, scenario) for number, owner, scenario, _ in found}
        for number in sorted(users, key=lambda one: (active[users[one]], last[users[one]], one)):
            cell = ExperimentCell.objects.filter(experiment=number).claimable().values_list("pk", flat=True).first()
            if cell is not None and (claimed := LOADED.claim(cell, token)):
                Experiment.everything.filter(pk=number).update(claimed_at=Now())
                return claimed
    return None


def _computing() -> list[tuple[int | None, int]]:
    """Return (owner, scenario) of each cell in computation."""
    rows = ExperimentCell.objects.filter(~silent(), state=Work.State.RUNNING).order_by()
    return list(rows.values_list("experiment__owner_id", "experiment__scenario_id"))


def waiting_jobs(most: int) -> int:
    """Return how many jobs wait for a worker: cells, and experiments to plan or summarise; at most `most`."""
    experiments = Experiment.everything.ready().count()
    cells = ExperimentCell.objects.filter(experiment__state=Work.State.RUNNING).claimable().order_by()
    return min(most, experiments + cells[:most].count())
