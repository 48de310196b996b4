"""The server: makes the tools known over standard input and output, by the Python SDK of the protocol."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from scheduler_core.errors import InputError
from scheduler_core.mcp_server.bounded import WARNING
from scheduler_core.mcp_server.tools import Tools

INSTRUCTIONS = (
    "KubeSched says why pods of a Kubernetes cluster are pending, or where they would be placed, by running the "
    "decisions of kube-scheduler again. Nothing is changed: every tool only reads. Call list_files, then pending_pods, "
    "then why for a pod. " + WARNING
)


def serve(command: list[str], folder: Path, context: str | None, version: str) -> None:
    """Answer requests until standard input ends. See Tools for the arguments."""
    server: MCPServer[None] = MCPServer("kubesched", instructions=INSTRUCTIONS, version=version, log_level="ERROR")
    tools = Tools(command, folder, context)
    for name in tools.names():
        tool = getattr(tools, name)
        server.add_tool(
            _with_tool_errors(tool),
            name=name,
            description=inspect.cleandoc(tool.__doc__),
            annotations=ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True),
            structured_output=False,
        )
    server.run("stdio")


def _with_tool_errors(tool: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    @functools.wraps(tool)
    async def run(*args: object, **kwargs: object) -> str:
        try:
            return await tool(*args, **kwargs)
        except InputError as problem:
            raise ToolError(ascii(str(problem))[1:-1]) from None

    return run
