"""Static files for browsers: compressed, cached for a year, with names that change with their content.

The web process collects them when it starts (`collect`). A process that has not collected any, such as a test or with
`DEBUG=1`, serves the files of the checkout under their own names.
"""

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

# Matches an import of another module in a script of this project, as biome formats it.
IMPORT = r'(?P<matched>(?P<how>\bfrom |\bimport |\bimport\()"(?P<url>\.{1,2}/[^"]+\.js)")'
# Style sheets that every page uses. They are separate files in the source and are served as one for speed.
JOINED = {"css/site.css": ("css/tokens.css", "css/base.css", "css/parts.css", "css/capacity_bars.css", "css/home.css")}
GATHERED = "gathered.sha256"  # digest of the sources of the collected files; written last
# Only some files of Plotly are served.
NOT_SERVED = ("widgetbundle.js", "datasets", "templates", "*.map")


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Store `js/pod.js` as `js/pod.1a2b3c4d5e6f.js` and `.js.gz`. Scripts import each other by these names."""

    patterns = (
        ("*.css", (r"""(?P<matched>url\(['"]?(?P<url>[^'")]*)['"]?\))""",)),
        ("js/*.js", ((IMPORT, '%(how)s"%(url)s"'),)),
    )
    keep_only_hashed_files = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Write the joined files, then process them like all others."""
        for name, parts in JOINED.items():
            if not paths.keys() >= set(parts):
                continue
            self._save(name, ContentFile(b"".join(self.open(part).read() for part in parts)))
            paths[name] = (self, name)
        yield from super().post_process(paths, dry_run, **options)

    def read_manifest(self) -> None:
        """Ignore the file names of an earlier start: they may belong to other content."""

    def url(self, name: str, force: bool = False) -> str:
        """Return the URL of a file, with its hash if files have been collected."""
        return str(super().url(name, force) if self.hashed_files else StaticFilesStorage.url(self, name))


class StaticFiles(WhiteNoiseMiddleware):
    """Files with a hash in their name are cached for a year, the maximum that the HTTP specification recommends."""

    FOREVER = 365 * 24 * 60 * 60


def collect() -> None:
    """Collect the files of this version in STATIC_ROOT and delete those of other versions. This takes almost a second,
    so it is done only if a file has changed since the last start."""
    if settings.DEBUG:
        return
    gathered, state = Path(settings.STATIC_ROOT, GATHERED), sources()
    if gathered.exists() and gathered.read_text() == state and collected():
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0, ignore_patterns=list(NOT_SERVED))
    gathered.write_text(state)


def sources() -> str:
    """Return a digest of the names, sizes and modification times of all source files and of the code that collects
    them."""
    found = [__file__, storage.__file__, whitenoise.__file__]
    for finder in finders.get_finders():
        found += [place.path(name) for name, place in finder.list(list(NOT_SERVED))]
    digest = hashlib.sha256()
    for path in found:
        about = os.stat(path)
        digest.update(f"{path} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def collected() -> bool:
    """Load the file names that an earlier process collected. Return False if there are none."""
    files: Any = staticfiles_storage
    if settings.DEBUG or not isinstance(files, HashedFiles):
        return False
    with contextlib.suppress(OSError, ValueError, KeyError):
        text = Path(settings.STATIC_ROOT, files.manifest_name).read_text()
        files.hashed_files = json.loads(text)["paths"]
    return bool(files.hashed_files)


def sheets(name: str) -> list[str]:
    """Return the URLs of a joined style sheet: one, or one per part if no files were collected."""
    gathered = isinstance(staticfiles_storage, HashedFiles) and staticfiles_storage.hashed_files
    return [static(part) for part in ([name] if gathered else JOINED[name])]


def imported_by(names: Iterable[str]) -> list[str]:
    """Return the modules that the modules `names` (such as "js/pod.js") import statically, directly or indirectly, each
    once."""
    if settings.DEBUG:
        imports_of.cache_clear()
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        for name in imports_of(waiting.pop(0)):
            if name not in found:
                found[name] = None
                waiting.append(name)
    return list(found)


@functools.cache
def imports_of(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports statically, in order."""
    path = finders.find(name)
    assert isinstance(path, str), f"no static file {name}"
    needed = [match for match in re.finditer(IMPORT, Path(path).read_text()) if match["how"] != "import("]
    return tuple(posixpath.normpath(posixpath.join(posixpath.dirname(name), match["url"])) for match in needed)
