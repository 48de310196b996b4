"""python -m scheduler_core experiment: computes the cells of an Experiment document, and its answer."""

import argparse
import json
from pathlib import Path
from typing import IO

from scheduler_core.commands.console import choices_of, print_json
from scheduler_core.config.document import located
from scheduler_core.errors import InputError
from scheduler_core.experiments.document import Experiment
from scheduler_core.experiments.local_run import Finished, run_experiment
from scheduler_core.experiments.questions import experiment_schema, load_experiment
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.snapshot.files import read_bytes


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write a JSON line for each cell as it is finished, and the answer last. Return 0, or 1 if a cell failed. Raises
    InputError."""
    if args.schema:
        print(json.dumps(experiment_schema(), indent=2), file=out)
        return 0
    if args.file is None:
        raise InputError("FILE", "", "is missing")
    if args.workers < 1:
        raise InputError("--workers", "", f"must be 1 or more, got {args.workers}")
    source = read_bytes(args.file)
    experiment = load_experiment(source, args.file)
    failed = 0

    def on_finished(finished: Finished) -> None:
        nonlocal failed
        cell, result, error = finished.done
        failed += result is None
        outcome = {"error": error} if result is None else {"result": result}
        about = {"cell": finished.number, "question": cell.question, "labels": cell.labels, "seed": cell.seed}
        print_json(about | {"seconds": finished.seconds} | outcome, out)

    scenarios = _scenarios(experiment, args)
    try:
        summary = run_experiment(experiment, scenarios, on_finished, workers=args.workers)
    except InputError as problem:
        if problem.where:
            raise
        raise located(source, args.file, problem.field, problem.problem) from None  # a field of the document
    print_json({"experiment": experiment.metadata.name, "question": experiment.spec.question, **summary}, out)
    return 1 if failed else 0


def _scenarios(experiment: Experiment, args: argparse.Namespace) -> dict[str, ScenarioInput]:
    folder = Path(args.file).parent if args.file != "-" else Path()
    found = {}
    for i, one in enumerate(experiment.spec.scenarios):
        if one.file is None:
            problem = "names a scenario that is stored in the application; name a file"
            raise InputError(args.file, f"spec.scenarios[{i}].id", problem)
        found[one.key] = ScenarioInput.from_file(folder / one.file, one.key, choices_of(args))
    return found
