"""The command `experiment`: lines, answer, errors, stop."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing import Process, active_children, parent_process
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from scheduler_core.__main__ import main
from scheduler_core.errors import InputError
from scheduler_core.experiments import local_run
from scheduler_core.experiments.cell import Cell, Done, Result
from scheduler_core.experiments.document import Experiment, cells_of
from scheduler_core.experiments.placements import run_with_kinds
from scheduler_core.experiments.questions import experiment_schema
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.releases import NEWEST
from tests.scheduler_core.build import node, pod


class TwoRounds:
    """Runs the grid, then one more cell. Fails for seed 13; counts its computations."""

    def __init__(self) -> None:
        self.computed = 0

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterable[Cell]:
        return cells_of(experiment)

    def next_round(self, experiment: Experiment, done: Sequence[Done]) -> Sequence[Cell]:
        first = done[0].cell
        return [first] if len(done) == experiment.spec.size else []

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Callable[[], None]) -> Result:
        self.computed += 1
        if cell.seed == 13:
            raise InputError("seed", "", "brings bad luck")
        if cell.seed == 99:
            raise KeyboardInterrupt
        return run_with_kinds(cell, scenario, check)

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        return {"answer": f"{len(done)} cells, {sum(one.result is None for one in done)} failed."}


@pytest.fixture
def question(monkeypatch: pytest.MonkeyPatch) -> TwoRounds:
    question = TwoRounds()
    monkeypatch.setattr(local_run, "QUESTIONS", {"compare": question})
    return question


def document(folder: Path, **fields: Any) -> str:
    (folder / "cluster.json").write_text(json.dumps({"kind": "List", "items": [node("n1"), pod("p")]}))
    spec = {"scenarios": [{"file": "cluster.json"}], **fields}
    file = folder / "experiment.yaml"
    head = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "metadata": {"name": "e"}}
    file.write_text(json.dumps(head | {"spec": spec}))
    return str(file)


def test_a_line_for_each_cell_and_the_answer_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], question: TwoRounds
) -> None:
    assert main(["experiment", document(tmp_path, seeds=[1, 13, 2]), "--workers", "1"]) == 1
    *cells, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert [(line["cell"], line["seed"]) for line in cells] == [(1, 1), (2, 13), (3, 2), (4, 1)]
    assert cells[0]["result"]["metrics"]["placed"] == 1
    assert cells[1]["error"] == "seed: brings bad luck"
    assert cells[3]["result"] == cells[0]["result"]
    assert question.computed == 3  # the last cell equals the first one
    assert summary == {"experiment": "e", "question": "compare", "answer": "4 cells, 1 failed."}
    assert main(["experiment", document(tmp_path)]) == 0


def test_errors_are_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], question: TwoRounds
) -> None:
    for fields, words in (
        ({"seeds": []}, "spec.seeds: must not be empty"),
        ({"scenarios": [{"id": 4}]}, "spec.scenarios[0].id: names a scenario that is stored in the application"),
        ({"scenarios": [{"file": "missing.json"}]}, "missing.json: cannot be read: No such file or directory"),
        ({"seeds": {"count": 10**9}}, "spec: would have 1,000,000,000 cells; at most 10,000 are allowed"),
    ):
        assert main(["experiment", document(tmp_path, **fields)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert words in err
    assert main(["experiment", str(tmp_path / "none.yaml")]) == main(["experiment"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_an_error_of_the_question_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = document(tmp_path, question="packing", virtualTime=True)
    assert main(["experiment", file]) == 2
    assert (
        "experiment.yaml: line 1: spec.virtualTime: is only for compare, noise and tune, got packing"
        in capsys.readouterr().err
    )


def test_packing_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", document(tmp_path, question="packing", packing={"measures": ["compaction"]})]) == 0
    *cells, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert len(cells) == 11
    assert summary["answer"].startswith("The pod fits on 1 of 1 node")


def test_ctrl_c_keeps_the_lines_of_finished_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], question: TwoRounds
) -> None:
    assert main(["experiment", document(tmp_path, seeds=[1, 99, 2]), "--workers", "1"]) == 130
    out, err = capsys.readouterr()
    assert [json.loads(line)["cell"] for line in out.splitlines()] == [1]
    assert err == ""


def lines_of(text: str) -> list[dict[str, Any]]:
    """Return the lines of an output without the seconds."""
    return [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in text.splitlines()]


@pytest.mark.parametrize(
    "fields",
    [
        {"seeds": [1, 2, 3]},
        {"question": "packing", "packing": {"measures": ["compaction"]}},
        {"question": "tune", "tune": {"aims": [{"metric": "pending"}], "trials": 5, "batch": 2}},  # several rounds
    ],
)
def test_several_processes_write_the_same_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fields: dict[str, Any]
) -> None:
    file = document(tmp_path, **fields)
    outputs = []
    for workers in ("1", "3"):
        assert main(["experiment", file, "--workers", workers]) == 0
        outputs.append(lines_of(capsys.readouterr().out))
        assert not active_children()
    assert outputs[0] == outputs[1]
    assert [line["cell"] for line in outputs[1][:-1]] == list(range(1, len(outputs[1])))


class Faulty(TwoRounds):
    """In another process, seed 13 fails without a reason, 77 kills the process, and 99 presses Ctrl-C and waits."""

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Callable[[], None]) -> Result:
        parent = parent_process()
        assert parent is not None
        assert parent.pid is not None
        if cell.seed == 13:
            raise ValueError("bad luck")
        if cell.seed == 77:
            os.kill(os.getpid(), signal.SIGKILL)
        if cell.seed == 99:
            os.kill(parent.pid, signal.SIGINT)
            time.sleep(60)
        return {}


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(local_run, "QUESTIONS", {"compare": Faulty()})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    yield
    signal.signal(signal.SIGINT, before)
    assert not active_children()


@pytest.mark.usefixtures("faulty")
def test_ctrl_c_ends_all_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", document(tmp_path, seeds=[1, 99, 2]), "--workers", "2"]) == 130
    out, err = capsys.readouterr()
    assert [line["cell"] for line in lines_of(out)] in ([], [1])
    assert err == ""


PARTS = ("concurrent", "multiprocessing", "selectors", "threading")  # of Python, which a run uses


def interrupt_at_every_point(file: str) -> None:
    """Run the experiment again and again, each time with Ctrl-C some lines later, until it is finished before."""
    runner, left = os.getpid(), 0

    def trace(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        nonlocal left
        name = frame.f_globals.get("__name__", "")
        if os.getpid() != runner or (name.partition(".")[0] not in PARTS and name != local_run.__name__):
            return None
        left -= event == "line"
        if left < 0:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace

    for point in range(0, 100_000, 5):
        left = point
        sys.settrace(trace)
        code = main(["experiment", file, "--workers", "2"])
        sys.settrace(None)
        assert not active_children(), point
        if code == 0:
            return
        assert code == 130
    raise AssertionError("it was never finished")


@pytest.mark.long
@pytest.mark.usefixtures("faulty")
def test_ctrl_c_at_any_point_ends_the_run(tmp_path: Path) -> None:
    """Another process runs it, so that the test ends if that one hangs."""
    other = Process(target=interrupt_at_every_point, args=[document(tmp_path, seeds=[1, 2, 3])])
    other.start()
    other.join(120)
    hangs = other.is_alive()
    other.kill()
    other.join()
    assert not hangs
    assert other.exitcode == 0


@pytest.mark.usefixtures("faulty")
def test_problems_of_processes_name_the_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="bad luck") as raised:
        main(["experiment", document(tmp_path, seeds=[1, 13]), "--workers", "2"])
    name = f"the cell scenario cluster.json, release {NEWEST}, configuration default, changes unchanged, seed"
    where, lines = raised.value.__notes__
    assert where == f"in {name} 13"
    assert 'raise ValueError("bad luck")' in lines
    capsys.readouterr()
    assert main(["experiment", document(tmp_path, seeds=[77, 78]), "--workers", "2"]) == 2
    assert f"a process was killed that computed {name} 77; fewer workers" in capsys.readouterr().err


def test_a_question_cannot_plan_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "MAX_CELLS", 3)
    cell = Cell(question="compare", scenario="", release="1.34")
    assert local_run.planned([cell] * 3) == [cell] * 3
    for cells, before in (([cell] * 4, 0), ([cell], 3)):
        with pytest.raises(InputError, match="more than 3 cells"):
            local_run.planned(cells, before)


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == experiment_schema()
