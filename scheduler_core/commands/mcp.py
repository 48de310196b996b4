"""python -m scheduler_core mcp: answers the questions of assistants over the Model Context Protocol."""

import argparse
import sys
from importlib import metadata
from typing import IO

from scheduler_core.errors import InputError


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Serve the tools over standard input and output until it ends; return 0.

    The tools run the commands of the program that started this server. Raises InputError.
    """
    try:
        from scheduler_core.mcp_server.server import serve
    except ImportError as problem:
        if not (problem.name or "").startswith("mcp"):
            raise
        raise InputError("mcp", "", "needs the package mcp: pip install 'kubesched[mcp]'") from None
    if not args.folder.is_dir():
        raise InputError("--folder", "", f"{str(args.folder)[:200]!r} is no folder")
    program = sys.orig_argv[: sys.orig_argv.index("mcp")]
    serve(program, args.folder, args.context if args.live else None, _version())
    return 0


def _version() -> str:
    try:
        return metadata.version("kubesched")
    except metadata.PackageNotFoundError:
        return ""
