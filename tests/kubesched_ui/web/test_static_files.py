"""Static files: compressed, cached for a year under hashed names, collected on start."""

import gzip
import os
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.staticfiles import finders
from django.template import engines
from django.templatetags.static import static

from kubesched_ui.web import static_files

pytestmark = pytest.mark.slow

NAMED = re.compile(r'(?:from |import |import\()"(\.[^"]+)"')


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Return the folder of collected files, empty at first."""
    settings.STATIC_ROOT = tmp_path / "gathered"
    settings.STATIC_ROOT.mkdir()
    return Path(settings.STATIC_ROOT)


@pytest.fixture
def own(settings: Any, tmp_path: Path) -> Path:
    """Create a static folder with three scripts, of which a imports b and b imports c."""
    scripts = tmp_path / "static" / "js"
    (scripts / "deep").mkdir(parents=True)
    (scripts / "a.js").write_text(
        'import {\n  b,\n} from "./deep/b.js";\nconst later = () => import("./late.js");\nb();\n'
    )
    (scripts / "deep" / "b.js").write_text('import "../c.js";\nexport const b = () => "from \'./no.js\'";\n')
    (scripts / "c.js").write_text("document.title;\n")
    (scripts / "late.js").write_text("document.title;\n")
    settings.STATICFILES_DIRS = [tmp_path / "static"]
    finders.get_finder.cache_clear()
    static_files.imports_of.cache_clear()
    yield scripts
    finders.get_finder.cache_clear()
    static_files.imports_of.cache_clear()


def test_without_collection_files_keep_their_names() -> None:
    assert static("js/pod.js") == "/static/js/pod.js"


def test_collected_files_are_hashed_and_compressed(folder: Path) -> None:
    static_files.collect()
    for name in ("js/pod.js", "css/base.css", "plotly/plotly.min.js", "ninja/swagger-ui.css"):
        address = static(name)
        stem, ending = name.rsplit(".", 1)
        assert re.fullmatch(rf"/static/{re.escape(stem)}\.[0-9a-f]{{12}}\.{ending}", address)
        file = folder / address.removeprefix("/static/")
        assert gzip.decompress(file.with_name(f"{file.name}.gz").read_bytes()) == file.read_bytes()
    assert not list(folder.glob("plotly/widgetbundle*"))


def test_the_style_sheets_of_all_pages_are_bundled(folder: Path) -> None:
    page = engines["django"].from_string('{% load ui %}{% styles "css/site.css" %}')
    linked = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)">')
    parts = linked.findall(page.render())
    assert parts[:3] == ["css/tokens.css", "css/base.css", "css/parts.css"]
    static_files.collect()
    (one,) = linked.findall(page.render())
    assert re.fullmatch(r"css/site\.[0-9a-f]{12}\.css", one)
    assert (folder / one).read_text() == "".join(Path(finders.find(part)).read_text() for part in parts)
    assert (folder / f"{one}.gz").is_file()


def test_scripts_import_existing_files(folder: Path) -> None:
    static_files.collect()
    scripts = list((folder / "js").rglob("*.js"))
    assert len(scripts) == len(list((Path(finders.find("js/pod.js")).parent).rglob("*.js")))
    for script in scripts:
        for named in NAMED.findall(script.read_text()):
            assert re.search(r"\.[0-9a-f]{12}\.js$", named), f"{script}: {named}"
            assert (script.parent / named).is_file(), f"{script}: {named}"


def test_a_changed_file_changes_the_hashes_of_all_importing_files(own: Path, folder: Path) -> None:
    static_files.collect()
    before = {name: static(f"js/{name}") for name in ("a.js", "deep/b.js", "c.js", "late.js")}
    (own / "c.js").write_text("document.body;\n")
    static_files.collect()
    after = {name: static(f"js/{name}") for name in before}
    assert [name for name in before if before[name] != after[name]] == ["a.js", "deep/b.js", "c.js"]
    assert sorted(path.name for path in (folder / "js").glob("c.*.js")) == [Path(after["c.js"]).name]
    assert (
        after["deep/b.js"].removeprefix("/static/js/") in (folder / after["a.js"].removeprefix("/static/")).read_text()
    )


def test_only_changed_files_are_collected_again(own: Path, folder: Path) -> None:
    def times() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}

    static_files.collect()
    before, address = times(), static("js/a.js")
    static_files.staticfiles_storage.hashed_files = {}  # as in a new process
    static_files.collect()
    assert (times(), static("js/a.js")) == (before, address)
    (own / "new.js").write_text("document.title;\n")
    static_files.collect()
    assert static("js/new.js") != "/static/js/new.js"
    (own / "new.js").unlink()
    static_files.collect()
    assert not list(folder.glob("js/new*"))


def test_an_interrupted_collection_is_repeated(own: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    static_files.collect()
    os.utime(own / "c.js")
    with monkeypatch.context() as patch:
        patch.setattr(static_files.HashedFiles, "file_hash", Mock(side_effect=OSError("full")))
        with pytest.raises(OSError, match="full"):
            static_files.collect()
    static_files.collect()
    address = static("js/a.js")
    assert (folder / address.removeprefix("/static/")).is_file()
    (folder / "staticfiles.json").write_text("{")
    static_files.staticfiles_storage.hashed_files = {}
    static_files.collect()
    assert static("js/a.js") == address


def test_module_preloads_include_all_imports(own: Path) -> None:
    assert static_files.imported_by(["js/a.js"]) == ["js/deep/b.js", "js/c.js"]
    page = engines["django"].from_string('{% load ui %}{% modules "js/a.js" %}').render()
    assert re.findall(r'<link rel="modulepreload" href="([^"]+)">', page) == ["/static/js/deep/b.js", "/static/js/c.js"]
    assert re.findall(r'<script type="module" src="([^"]+)"', page) == ["/static/js/a.js"]


def test_scripts_have_no_import_cycle() -> None:
    scripts = Path(finders.find("js/pod.js")).parent
    for path in scripts.rglob("*.js"):
        name = f"js/{path.relative_to(scripts)}"
        assert name not in static_files.imported_by([name])


def test_in_debug_mode_nothing_is_collected(settings: Any, folder: Path) -> None:
    settings.DEBUG = True
    static_files.collect()
    assert list(folder.iterdir()) == []
    assert static("js/pod.js") == "/static/js/pod.js"
