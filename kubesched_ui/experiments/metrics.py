"""Metrics of experiments, for each web process the same."""

from collections.abc import Iterator

from django.db.models import Count, Q, Sum

from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.observability.metric_sources import Sample, of_the_database
from kubesched_ui.work.models import Work, silent


def samples() -> Iterator[Sample]:
    """Yield the metrics of experiments and their cells."""
    states = dict(Experiment.everything.order_by().values_list("state").annotate(Count("pk")))
    for state in Work.State.values:
        yield Sample("experiments", "Experiments by state.", states.get(state, 0), {"state": state})
    active = ExperimentCell.objects.filter(experiment__state__in=Work.ACTIVE).order_by()
    running = Q(state=Work.State.RUNNING)
    found = active.aggregate(
        waiting=Count("pk", filter=Q(state=Work.State.QUEUED)),
        computing=Count("pk", filter=running & ~silent()),
        stalled=Count("pk", filter=running & silent()),
    )
    yield Sample("cells_waiting", "Cells of experiments that wait for a worker.", found["waiting"])
    yield Sample("cells_computing", "Cells of experiments in computation.", found["computing"])
    yield Sample("cells_stalled", "Cells without a recent heartbeat of a worker.", found["stalled"])
    total = Experiment.everything.aggregate(done=Sum("cells_done"), reused=Sum("cells_reused"), seconds=Sum("seconds"))
    yield Sample("cells_stored", "Finished cells of all stored experiments.", total["done"] or 0)
    yield Sample("cells_reused", "Finished cells whose result had been computed before.", total["reused"] or 0)
    yield Sample("cells_seconds", "Seconds of computation of all stored cells.", total["seconds"] or 0)


of_the_database.append(samples)
