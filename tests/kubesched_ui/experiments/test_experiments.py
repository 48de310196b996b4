"""Experiments: planning, computing, retry, lost workers, reuse, cancel, limits."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from kubesched_ui.experiments import planning, queue, services, tasks
from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.housekeeping import retention
from kubesched_ui.models import Retention, Scenario
from kubesched_ui.work.models import LostClaim
from scheduler_core.errors import InputError
from tests.kubesched_ui.experiments.documents import document
from tests.kubesched_ui.experiments.questions import Squares
from tests.kubesched_ui.recordings import node, pod, scenario

pytestmark = pytest.mark.django_db


def create(cluster: Scenario, **spec: Any) -> Experiment:
    return services.create_experiment(document(cluster.pk, **spec))


def finish(experiment: Experiment) -> Experiment:
    """Do all jobs, as the workers do."""
    while tasks.do_next_job():
        pass
    experiment.refresh_from_db()
    return experiment


def counts(experiment: Experiment) -> tuple[int, int, int, int]:
    return experiment.cells_total, experiment.cells_done, experiment.cells_failed, experiment.cells_reused


def silence(cell: ExperimentCell | Experiment) -> None:
    """Make the worker of a cell or experiment lost."""
    past = timezone.now() - timedelta(minutes=5)
    type(cell)._default_manager.filter(pk=cell.pk).update(heartbeat_at=past)


def test_the_cells_are_planned_computed_and_summarised(cluster: Scenario, squares: Squares) -> None:
    experiment = create(cluster, seeds=[1, 2, 3])
    assert (experiment.state, experiment.cells_total, squares.computed) == ("queued", 0, [])
    finish(experiment)
    assert (experiment.state, experiment.sentence) == ("done", "The sum is 14.")
    assert counts(experiment) == (3, 3, 0, 0)
    assert [cell.metrics for cell in experiment.cells.all()] == [{"square": 1}, {"square": 4}, {"square": 9}]
    assert experiment.cells.get(number=2).result == {"metrics": {"square": 4}, "objects": 3}
    assert experiment.cells.get(number=2).labels["seed"] == "2"


def test_a_second_round_follows_the_first(cluster: Scenario, squares: Squares) -> None:
    experiment = finish(create(cluster, seeds=[-1, -2]))
    assert (experiment.sentence, experiment.round) == ("The sum is 14.", 2)
    assert [(cell.number, cell.round) for cell in experiment.cells.all()] == [(1, 1), (2, 1), (3, 2)]


def test_what_was_computed_before_is_not_computed_again(cluster: Scenario, squares: Squares) -> None:
    first = finish(create(cluster, seeds=[1, 2]))
    again = finish(create(cluster, seeds=[1, 2]))
    assert squares.computed == [1, 2]
    assert counts(again) == (2, 2, 0, 2)
    assert again.answer == first.answer
    equal = scenario(node("n1", cpu="4"), pod("a"), pod("b"))  # the same content
    assert counts(finish(create(equal, seeds=[2, 3]))) == (2, 2, 0, 1)
    other = scenario(node("n1", cpu="4"), pod("a"), pod("c"))
    assert counts(finish(create(other, seeds=[1, 2]))) == (2, 2, 0, 0)


def test_a_result_that_arrived_meanwhile_is_copied(cluster: Scenario, squares: Squares) -> None:
    experiments = [create(cluster, seeds=[5]) for _ in range(2)]
    for _ in experiments:
        assert tasks.do_next_job()  # both are planned before a cell is computed
    for experiment in experiments:
        finish(experiment)
    assert squares.computed == [5]
    assert [experiment.cells_reused for experiment in experiments] == [0, 1]


def test_the_worker_of_the_last_cell_summarises(
    cluster: Scenario, squares: Squares, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "TURN_S", 0)  # a message computes one cell
    experiment = create(cluster, seeds=[1, 2])
    for expected in ("running", "running", "done"):  # to plan, and one for each cell
        tasks.compute_cell()
        experiment.refresh_from_db()
        assert experiment.state == expected


def test_a_failed_cell_is_tried_again(cluster: Scenario, squares: Squares) -> None:
    squares.errors = {2: [OSError("disk"), MemoryError()], 3: [ValueError()] * 3}
    experiment = finish(create(cluster, seeds=[1, 2, 3]))
    assert counts(experiment) == (3, 2, 1, 0)
    assert (experiment.state, experiment.sentence) == ("done", "The sum is 5.")
    assert sorted(squares.computed) == [1, 2, 2, 2, 3, 3, 3]
    failed = experiment.cells.get(state="failed")
    assert (failed.number, failed.starts) == (3, 3)
    assert failed.error == "Internal error (ValueError); see the worker log for details."


def test_a_cell_with_an_invalid_input_fails_at_once(cluster: Scenario, squares: Squares) -> None:
    squares.errors = {1: [InputError("Pod a", "spec", "is wrong")]}
    experiment = finish(create(cluster, seeds=[1]))
    assert squares.computed == [1]
    assert (experiment.state, experiment.error) == ("failed", "All cells failed. The first one: Pod a: spec: is wrong")


def test_the_cell_of_a_lost_worker_is_computed_and_counted_once(cluster: Scenario, squares: Squares) -> None:
    experiment = create(cluster, seeds=[1, 2])
    tasks.do_next_job()
    lost = queue.claim_cell("lost")
    assert lost is not None
    silence(lost)
    finish(experiment)
    assert counts(experiment) == (2, 2, 0, 0)
    with pytest.raises(LostClaim):  # the worker was only slow
        planning.finish_cell(lost, result={"metrics": {"square": 99}})
    finish(experiment)
    assert (counts(experiment), experiment.sentence) == ((2, 2, 0, 0), "The sum is 5.")


def test_a_cell_that_kills_every_worker_fails(cluster: Scenario, squares: Squares) -> None:
    experiment = create(cluster, seeds=[1, 2])
    tasks.do_next_job()
    for _ in range(5):
        cell = queue.claim_cell("lost")
        assert cell is not None
        assert cell.number == 1
        silence(cell)
    services.sweep()
    assert experiment.cells.get(number=1).error == "The worker was lost 5 times; the cell may need more memory."
    assert counts(finish(experiment)) == (2, 1, 1, 0)


def test_a_lost_planner_stores_no_cell_twice(
    cluster: Scenario, squares: Squares, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "BATCH", 2)
    experiment = create(cluster, seeds={"count": 5})
    store, stored = planning.store, []

    def dies(experiment: Experiment, rows: list[ExperimentCell]) -> None:
        if stored:
            raise SystemExit
        stored.extend(rows)
        store(experiment, rows)

    monkeypatch.setattr(planning, "store", dies)
    with pytest.raises(SystemExit):
        tasks.do_next_job()
    assert experiment.cells.count() == 2
    monkeypatch.setattr(planning, "store", store)
    Experiment.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    assert counts(finish(experiment)) == (5, 5, 0, 0)
    assert [cell.cell.get("seed", 0) for cell in experiment.cells.all()] == [0, 1, 2, 3, 4]


def test_an_experiment_whose_cells_are_computed_is_not_claimed(cluster: Scenario, squares: Squares) -> None:
    experiment = create(cluster, seeds=[1, 2])
    assert list(Experiment.everything.ready()) == [experiment]
    tasks.do_next_job()  # another worker plans it
    assert Experiment.everything.claim(experiment.pk, "late") is None
    assert counts(finish(experiment)) == (2, 2, 0, 0)


def test_a_cancelled_experiment_computes_nothing_more(cluster: Scenario, squares: Squares) -> None:
    experiment = create(cluster, seeds=[1, 2, 3])
    tasks.do_next_job()
    tasks.do_next_job()
    running = queue.claim_cell("worker")
    assert running is not None
    services.cancel(experiment)
    assert experiment.state == "cancelled"
    with pytest.raises(LostClaim):
        planning.finish_cell(running, result={"metrics": {"square": 4}})
    tasks.compute(running)
    finish(experiment)
    assert squares.computed[0] == 1
    assert (counts(experiment), experiment.state) == ((3, 1, 0, 0), "cancelled")
    assert {cell.state for cell in experiment.cells.all()} == {"done", "cancelled"}


def test_users_take_turns(cluster: Scenario, squares: Squares) -> None:
    other = scenario(node("m1"), pod("x"))
    create(cluster, seeds=[1, 2, 3])
    create(other, seeds=[4, 5])
    tasks.do_next_job(), tasks.do_next_job()
    while tasks.do_next_job():
        pass
    assert squares.computed == [1, 4, 2, 5, 3]


def test_a_result_that_is_too_large_fails_its_cell(cluster: Scenario, squares: Squares, settings: Any) -> None:
    settings.EXPERIMENT_RESULT_MAX_BYTES = 10
    experiment = finish(create(cluster, seeds=[1, 2]))
    assert experiment.error.startswith("All cells failed. The first one: The result has 3")
    settings.EXPERIMENT_RESULT_MAX_BYTES, settings.EXPERIMENT_MAX_BYTES = 1000, 50
    experiment = finish(create(cluster, seeds=[1, 2]))
    assert counts(experiment) == (2, 1, 1, 0)
    assert experiment.cells.get(number=2).error == "The results of the experiment have more than 50 bytes."


def test_a_plan_beyond_the_limit_is_refused(cluster: Scenario, squares: Squares, settings: Any) -> None:
    settings.EXPERIMENT_MAX_CELLS = 4
    with pytest.raises(InputError, match="would have 5 cells; at most 4 are allowed"):
        create(cluster, seeds={"count": 5})
    many = [*squares.plan(planning.documents.parse(document(cluster.pk, seeds=[1]))[0], {})] * 9
    squares.plan = lambda experiment, scenarios: iter(many)  # type: ignore[method-assign]
    experiment = finish(create(cluster, seeds=[1]))
    assert experiment.error == "experiment: spec: needs more than 4 cells, which is the limit"


def test_a_message_is_sent_for_each_job_that_has_none(
    cluster: Scenario, squares: Squares, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(services, "send", sent.append)
    create(cluster, seeds={"count": 7})
    services.wake_workers()
    assert sent == [1], "to plan it"
    tasks.do_next_job()
    assert sent[-1] == 7
    monkeypatch.setattr(services, "messages", lambda: 5)
    services.sweep()
    assert sent[-1] == 2
    monkeypatch.setattr(services, "messages", lambda: 9)
    services.sweep()
    assert sent[-1] <= 0


def test_a_scenario_that_is_gone_fails_its_cells(cluster: Scenario, squares: Squares) -> None:
    other = scenario(node("m1"), pod("x"))
    experiment = services.create_experiment(document(cluster.pk, other.pk, seeds=[1]))
    tasks.do_next_job()
    number = other.pk
    other.delete()
    finish(experiment)
    assert counts(experiment) == (2, 1, 1, 0)
    assert experiment.cells.get(state="failed").error == f"Scenario {number}: was deleted"


def test_progress_and_time_left(cluster: Scenario, squares: Squares) -> None:
    experiment = create(cluster, seeds={"count": 4})
    assert experiment.eta_s is None
    tasks.do_next_job(), tasks.do_next_job()
    Experiment.objects.update(started_at=timezone.now() - timedelta(seconds=10))
    experiment.refresh_from_db()
    assert experiment.eta_s is not None
    assert 29 < experiment.eta_s < 33  # one of four cells in 10 s
    assert not experiment.stalled
    Experiment.objects.update(
        heartbeat_at=F("created_at") - timedelta(minutes=5), created_at=F("created_at") - timedelta(minutes=5)
    )
    experiment.refresh_from_db()
    assert experiment.stalled


def test_active_experiments_count_for_the_quota(cluster: Scenario, squares: Squares, settings: Any) -> None:
    settings.QUOTA_RUNNING = 1
    first = create(cluster, seeds=[1])
    with pytest.raises(InputError, match=rf"You have 1 of 1 active runs \(experiment {first.pk}\)"):
        create(cluster, seeds=[2])
    finish(first)
    assert create(cluster, seeds=[2]).state == "queued"


def test_old_experiments_expire(cluster: Scenario, squares: Squares, settings: Any) -> None:
    settings.KEEP_DAYS = 30
    old, new = finish(create(cluster, seeds=[1])), finish(create(cluster, seeds=[2]))
    active = create(cluster, seeds=[3])
    Experiment.objects.filter(pk__in=[old.pk, active.pk]).update(
        created_at=timezone.now() - timedelta(days=40), finished_at=timezone.now() - timedelta(days=40)
    )
    retention.store_periods()
    Retention.objects.update(since=timezone.now() - timedelta(days=8))
    retention.sweep()
    assert set(Experiment.objects.values_list("pk", flat=True)) == {new.pk, active.pk}
