"""Experiments: a question about a scenario that many runs answer together. docs/experiments.md describes each.

Start with `document` (what the documents of all questions share, and the grid of cells), `cell`, `question` (what a
question implements) and `local_run` (a whole experiment in one process). Imports go from a question to its parts and to
the shared modules.

Shared: `parameters` (the section of each question), `scenario_input` (the objects of a cell, its simulation, and the
address under which its result is known), `questions` (all questions by name, and the documents that ask them),
`run_cell` (a run and its metrics), `outcomes` and `placements` (where pods are, over several runs), `loaded_cluster`
(the end of a run, to continue from), `pod_copies` (further pods like one), `local_fit` (whether the order of placements
matters), `cell_runs` (with which changes a cell opens as a run).

| question | modules, in the order of the computation |
| --- | --- |
| compare, noise | `compare`, `noise` |
| capacity | `capacity` |
| loss | `loss`; `node_loss` and `disruption_budgets` (deleted or drained), `zone_outage` (on the clock) |
| buy | `buy`; `node_catalog`, `pod_shapes` (the model), `purchase` (its docstring lists the parts of the solver) |
| tune | `tune`; `tuned_configuration` |
| moves | `moves`; `move_search` with `move_chains`, `move_states` and `move_board` |
| packing | `packing` |
"""
