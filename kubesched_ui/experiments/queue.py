"""Order of the work of experiments. Messages only wake workers; this module decides in the database what is next.

Experiments whose round is to be planned or summarised are first. Then users take turns cell by cell (work/turns.py).
"""

from collections import Counter

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from kubesched_ui.work.models import Work, silent
from kubesched_ui.work.turns import in_turns, user_key

LOADED = ExperimentCell.objects.select_related("experiment").defer("experiment__document", "experiment__answer")


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
        computing = ExperimentCell.objects.filter(~silent(), state=Work.State.RUNNING).order_by()
        users = computing.select_related("experiment").only("experiment__owner_id", "experiment__scenario_id")
        found = waiting.only("owner_id", "scenario_id", "claimed_at")
        begun = found.filter(claimed_at__isnull=False).order_by("claimed_at")
        began = {user_key(one): one.claimed_at for one in begun}
        active = Counter(user_key(cell.experiment) for cell in users)
        for one in in_turns(found.order_by("pk"), user_key, active, began):
            cell = ExperimentCell.objects.filter(experiment=one).claimable().values_list("pk", flat=True).first()
            if cell is not None and (claimed := LOADED.claim(cell, token)):
                Experiment.everything.filter(pk=one.pk).update(claimed_at=Now())
                return claimed
    return None


def waiting_jobs(most: int) -> int:
    """Return how many jobs wait for a worker: cells, and experiments to plan or summarise; at most `most`."""
    experiments = Experiment.everything.ready().count()
    cells = ExperimentCell.objects.filter(experiment__state=Work.State.RUNNING).claimable().order_by()
    return min(most, experiments + cells[:most].count())
