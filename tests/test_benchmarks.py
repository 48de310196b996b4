"""The command of benchmarks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.urls import resolve

from benchmarks import live_class
from benchmarks.__main__ import main
from kubesched_ui.lessons import catalog

WAITING = """
import time

from benchmarks import __main__ as command
from benchmarks.processes import in_new_process

def wait():
    try:
        print("started", flush=True)
        time.sleep(60)
    finally:
        print("stopped", flush=True)

def measure():
    yield in_new_process(wait)

if __name__ == "__main__":
    import waiting

    command.names, command.import_module = lambda: ["waiting"], lambda _: waiting
    command.main(["waiting"])
"""


def test_a_document_without_a_place_for_the_table_is_refused(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    document.write_text("<!-- end_to_end -->\n<!-- /end_to_end -->\n")
    with pytest.raises(SystemExit, match="has no lines <!-- end to end --> and <!-- /end to end -->"):
        main(["end_to_end", "--update", str(document)])


@pytest.mark.slow
def test_a_terminated_benchmark_stops_what_it_started(tmp_path: Path, checkout: Path) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{checkout}"}
    command = [sys.executable, tmp_path / "waiting.py"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "started\n"
        process.terminate()
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == 143


def test_the_class_begins_with_a_lesson_of_the_course() -> None:
    opened = resolve(f"{live_class.LESSON}class/")
    assert opened.url_name == "lesson-class"
    lesson = catalog.lesson(opened.kwargs["name"])
    assert lesson is not None
    assert lesson.name == opened.kwargs["name"], "not an address of an earlier version"
