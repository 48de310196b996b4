"""Parquet export of a run: a zip of tables for DuckDB, pandas and others, written in parts."""

import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kubesched_ui.event_log.fingerprints import Fingerprints, traces
from kubesched_ui.event_log.queue_sizes import LANES, NOWHERE
from kubesched_ui.exports import run_file
from kubesched_ui.ingest.formats import OUR_API, TABLES_KIND
from kubesched_ui.models import Run
from kubesched_ui.presenters import queue_timeline
from scheduler_core.recording.export_tables import CYCLES, SCORES, VERDICTS, Columns, TableBlock, cycle_row

MOVES = {"seq": "BIGINT", "t": "DOUBLE", "pod": "VARCHAR", "from": "VARCHAR", "to": "VARCHAR"}
TABLES = {"cycles": CYCLES, "verdicts": VERDICTS, "scores": SCORES, "moves": MOVES}

ROWS_PER_FILE = 500_000
MAX_ROWS = 20_000_000  # of verdicts and of scores; larger runs include only the best nodes of each cycle
FEWEST_NODES = 10  # nodes per cycle that are included regardless of the limit
PLUGINS = 8  # estimated number of plugins with a row per node
PIECE = 1 << 16

# Example questions: a title, and a query that runs in the directory of the unpacked zip.
QUERIES = (
    (
        "Which plugin decided against most nodes?",
        "SELECT plugin, count(*) AS refusals, count(DISTINCT pod) AS pods\n"
        "FROM 'verdicts/*.parquet' WHERE decisive\nGROUP BY plugin ORDER BY refusals DESC",
    ),
    (
        "Which pods stayed pending, and why?",
        "SELECT pod, max(attempt) AS attempts, arg_max(message, cycle) AS message\nFROM 'cycles/*.parquet'\n"
        "GROUP BY pod HAVING arg_max(result, cycle) <> 'scheduled' ORDER BY attempts DESC, pod",
    ),
    (
        "Which decisions were close?",
        "SELECT cycle, pod, node, score, margin, tied\nFROM 'cycles/*.parquet'\n"
        "WHERE margin IS NOT NULL ORDER BY margin, cycle LIMIT 20",
    ),
    (
        "What made the chosen nodes win, plugin by plugin?",
        "SELECT plugin, avg(weighted) FILTER (chosen) AS of_the_chosen, avg(weighted) AS of_all\n"
        "FROM 'scores/*.parquet'\nGROUP BY plugin ORDER BY of_the_chosen - of_all DESC",
    ),
    (
        "How long did pods wait in each lane of the queue?",
        'SELECT "to" AS lane, count(*) AS visits, avg(until - t) AS seconds\nFROM (\n'
        "  SELECT *, lead(t) OVER (PARTITION BY pod ORDER BY seq) AS until FROM 'moves/*.parquet')\n"
        "GROUP BY lane ORDER BY seconds DESC NULLS LAST",
    ),
)


def archive(run: Run) -> Iterator[bytes]:
    """Yield the zip's bytes in pieces.

    It has a folder of Parquet files for each of TABLES, `run.json`, which can be uploaded to run the run again, and
    `about.json`.
    """
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w") as packed:  # type: ignore[call-overload]
        about: dict[str, Any] = {"apiVersion": OUR_API, "kind": TABLES_KIND, "run": run.pk, "name": run.name}
        about |= {"kubernetes": run.release, "seed": run.seed}
        tables = _Tables(most(run))
        for table, part, columns in tables.files(run):
            _add(packed, f"run-{run.pk}/{table}/{part:04}.parquet", _parquet(columns, TABLES[table]))
            yield pipe.take()
        with packed.open(_member(f"run-{run.pk}/run.json"), "w", force_zip64=True) as file:
            for piece in run_file.document(run, bytes(tables.fingerprints)):
                file.write(piece)
                yield pipe.take()
        about |= {"cycles": run.cycles_done, "nodes_per_cycle_at_most": tables.most if tables.left_out else None}
        _add(packed, f"run-{run.pk}/about.json", msgspec.json.encode(about))
    yield pipe.take()


def most(run: Run) -> int:
    """Return how many nodes of a cycle are included per plugin."""
    return max(FEWEST_NODES, MAX_ROWS // (PLUGINS * max(1, run.cycles_done)))


class _Tables:
    """The files of all tables, in the order in which they are filled."""

    def __init__(self, most: int) -> None:
        self.most, self.left_out = most, False
        self.fingerprints = bytearray()  # of all cycles, complete after `files`
        self._parts = dict.fromkeys(TABLES, 0)

    def files(self, run: Run) -> Iterator[tuple[str, int, Columns]]:
        """Yield (table, number of the file, columns), at least one file per table."""
        rows: list[tuple[Any, ...]] = []
        block, prints = TableBlock(), Fingerprints()
        listed, names = None, np.zeros(0, object)
        for number, trace, nodes in traces(run):
            if nodes is not listed:
                listed, names = nodes, np.array(nodes, object)
            self.fingerprints += prints.fingerprint(trace, nodes)
            rows.append(cycle_row(trace, number))
            self.left_out |= block.add(trace, number, names, self.most)
            if block.verdicts >= ROWS_PER_FILE:
                yield self._next("verdicts", block.take_verdicts())
            if block.scores >= ROWS_PER_FILE:
                yield self._next("scores", block.take_scores())
        yield self._next("cycles", _columns(CYCLES, rows))
        if block.verdicts or not self._parts["verdicts"]:
            yield self._next("verdicts", block.take_verdicts())
        if block.scores or not self._parts["scores"]:
            yield self._next("scores", block.take_scores())
        yield self._next("moves", _moves(run))

    def _next(self, table: str, columns: Columns) -> tuple[str, int, Columns]:
        self._parts[table] += 1
        return table, self._parts[table], columns


def _columns(types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> Columns:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    found = {}
    for name, values in zip(types, columns, strict=True):
        found[name] = np.empty(len(values), object)
        found[name][:] = values
    return found


def _moves(run: Run) -> Columns:
    if not run.in_time:
        return _columns(MOVES, [])
    columns = queue_timeline.recording_of(run).columns
    lane = np.full(NOWHERE + 1, None, object)
    lane[: len(LANES)] = LANES
    pods = np.array(columns.names, object)[columns.pod] if columns.names else np.zeros(0, object)
    return {"seq": columns.seq, "t": columns.t, "pod": pods, "from": lane[columns.left], "to": lane[columns.lane]}


def _parquet(columns: Columns, types: Mapping[str, str]) -> bytes:
    """Return a Parquet file. Lists are passed as JSON."""
    import duckdb  # imported here, because it uses memory that only exports need

    casts = ", ".join(
        f"""from_json("{name}"::VARCHAR, '["VARCHAR"]') AS "{name}\""""
        if kind == "VARCHAR[]"
        else f'"{name}"::{kind} AS "{name}"'
        for name, kind in types.items()
    )
    # Do not download extensions: the needed ones are built in.
    config: dict[str, Any] = {"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config=config) as connection:
        file = Path(folder) / "part.parquet"
        connection.register("part", dict(columns))
        connection.execute(f"COPY (SELECT {casts} FROM part) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
        return file.read_bytes()


def _add(packed: zipfile.ZipFile, name: str, data: bytes) -> None:
    with packed.open(name, "w", force_zip64=True) as out:
        for begin in range(0, len(data), PIECE):
            out.write(data[begin : begin + PIECE])


def _member(name: str) -> zipfile.ZipInfo:
    """Return an entry that is compressed. Parquet files are compressed already."""
    info = zipfile.ZipInfo(name, time.localtime()[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


class _Pipe:
    """The output file of a zip; it buffers the bytes until `take`."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken
