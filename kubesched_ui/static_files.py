"""Static files as browsers get them: compressed, kept for a year under names that change with their content.

The web process gathers them when it starts (`collect`), so nobody has to. A process that has not gathered any, such as
a test or `DEBUG=1`, hands out the files as they are in the checkout, under their own names.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders, storage
from django.contrib.staticfiles.storage import StaticFilesStorage, staticfiles_storage
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.templatetags.static import static
from whitenoise import storage as whitenoise
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage

# What names another module in a script of ours, as biome writes it.
IMPORT = r'(?P<matched>(?P<how>\bfrom |\bimport |\bimport\()"(?P<url>\.{1,2}/[^"]+\.js)")'
# Style sheets of every page: kept apart for who reads them, gathered as one for who waits for them.
JOINED = {"css/site.css": ("css/tokens.css", "css/base.css", "css/parts.css", "css/capacity_bars.css", "css/home.css")}
GATHERED = "gathered.sha256"  # of what the files were made, the last to be written
# Of Plotly's and CodeMirror's folders few files are served; source maps are for those who build these libraries.
NOT_SERVED = ("widgetbundle.js", "datasets", "templates", "*.map", "index.html", "[!s]*-hint.js", "sql-hint.js")


class HashedFiles(CompressedManifestStaticFilesStorage):
    """`js/pod.js` becomes `js/pod.1a2b3c4d5e6f.js` and `.js.gz`; scripts import each other by these names."""

    patterns = (
        ("*.css", (r"""(?P<matched>url\(['"]?(?P<url>[^'")]*)['"]?\))""",)),
        ("js/*.js", ((IMPORT, '%(how)s"%(url)s"'),)),
    )
    keep_only_hashed_files = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Writes the joined files, too, and then does to all of them what is done to each."""
        for name, parts in JOINED.items():
            if not paths.keys() >= set(parts):
                continue
            self._save(name, ContentFile(b"".join(self.open(part).read() for part in parts)))
            paths[name] = (self, name)
        yield from super().post_process(paths, dry_run, **options)

    def read_manifest(self) -> None:
        """No names of an earlier start: they may be those of other files."""

    def url(self, name: str, force: bool = False) -> str:
        """The address of a file: hashed once files have been gathered."""
        return str(super().url(name, force) if self.hashed_files else StaticFilesStorage.url(self, name))


class StaticFiles(WhiteNoiseMiddleware):
    """Files with a hash in their name are kept for a year, the longest that HTTP speaks of."""

    FOREVER = 365 * 24 * 60 * 60


def collect() -> None:
    """Gathers the files of this version in STATIC_ROOT; those of another version go.

    That takes most of a second, so it is only done where a file is another than at the last start.
    """
    if settings.DEBUG:
        return
    gathered, state = Path(settings.STATIC_ROOT, GATHERED), sources()
    if gathered.exists() and gathered.read_text() == state and collected():
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0, ignore_patterns=list(NOT_SERVED))
    gathered.write_text(state)


def sources() -> str:
    """A digest of the names, sizes and times of all files that are gathered, and of the code that does it."""
    found = [__file__, storage.__file__, whitenoise.__file__]
    for finder in finders.get_finders():
        found += [place.path(name) for name, place in finder.list(list(NOT_SERVED))]
    digest = hashlib.sha256()
    for path in found:
        about = os.stat(path)
        digest.update(f"{path} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def collected() -> bool:
    """Takes the files as the process before this one gathered them; False if it did not."""
    files: Any = staticfiles_storage
    if settings.DEBUG or not isinstance(files, HashedFiles):
        return False
    with contextlib.suppress(OSError, ValueError, KeyError):
        text = Path(settings.STATIC_ROOT, files.manifest_name).read_text()
        files.hashed_files = json.loads(text)["paths"]
    return bool(files.hashed_files)


def sheets(name: str) -> list[str]:
    """The addresses of a joined style sheet: one, or one for each of its parts while no files were gathered."""
    gathered = isinstance(staticfiles_storage, HashedFiles) and staticfiles_storage.hashed_files
    return [static(part) for part in ([name] if gathered else JOINED[name])]


def imported_by(names: Iterable[str]) -> list[str]:
    """The modules that the modules `names` need before they run, each once. `names` are such as "js/pod.js"."""
    if settings.DEBUG:
        _imports.cache_clear()
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        for name in _imports(waiting.pop(0)):
            if name not in found:
                found[name] = None
                waiting.append(name)
    return list(found)


@functools.cache
def _imports(name: str) -> tuple[str, ...]:
    path = finders.find(name)
    assert isinstance(path, str), f"no static file {name}"
    needed = [match for match in re.finditer(IMPORT, Path(path).read_text()) if match["how"] != "import("]
    return tuple(posixpath.normpath(posixpath.join(posixpath.dirname(name), match["url"])) for match in needed)
