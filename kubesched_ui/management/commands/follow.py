"""`manage.py follow [NAME]`: follows a live cluster, or all that are to be followed.

On a slow machine the modules of a follower take minutes to load, so they load after its first heartbeat.
"""

import asyncio
import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any
from uuid import uuid4

from django.core.management.base import CommandError
from django.db import DatabaseError

from kubesched_ui.clusters import connections, leases
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.clusters.supervisor import TOKEN, FollowerSupervisor
from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.runtime import env
from scheduler_core.errors import InputError


class Command(OwnCommand):
    help = "Follows the live cluster NAME until stopped; without NAME, all clusters that are to be followed."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", metavar="NAME", help="a cluster of the settings (docs/live.md)")
        for part in ("pending", "decisions"):
            parser.add_argument(f"--{part}", action="store_true", help="Used by a follower to start its processes.")

    def handle(self, *args: Any, name: str | None, pending: bool, decisions: bool, **options: Any) -> None:
        if pending:
            from kubesched_ui.clusters import analysis
            from kubesched_ui.clusters.analysis import PendingAnalysis

            analysis.run(sys.stdin.buffer, PendingAnalysis, "Pending pods are not explained")
            return
        if decisions:
            from kubesched_ui.clusters import analysis
            from kubesched_ui.clusters.judging import DecisionAnalysis

            analysis.run(sys.stdin.buffer, DecisionAnalysis, "Decisions are not checked")
            return
        try:
            connections.store_configured()
        except (InputError, env.InvalidEnvironment) as problem:
            raise CommandError(str(problem)) from None
        except DatabaseError as problem:
            raise CommandError(f"The database cannot be used: {problem}") from None
        if name is None:
            FollowerSupervisor().run()
            return
        token = os.environ.pop(TOKEN, "") or f"{uuid4().hex}:{uuid4().hex}"
        cluster = leases.claim(name, token)
        if cluster is None:
            known = Cluster.everything.filter(name=name, configured=True).exists()
            missing = f"The settings name no cluster {name}; see docs/live.md."
            raise CommandError(f"Another process follows {name}." if known else missing)
        sys.exit(run_follower(cluster, token))


def run_follower(cluster: Cluster, token: str) -> int:
    """Follow a cluster until a signal. Return the exit code."""
    with ExitStack() as starting:
        starting.enter_context(leases.heartbeats(cluster.pk, token))
        from kubesched_ui.clusters.writer import REPLACED, LostLease, ReplacedCluster, forget_history
        from scheduler_core.live.transport import TransportError

        message = ""
        try:
            asyncio.run(until_signal(cluster, token, connections.connection_of(cluster), starting.close))
        except LostLease:
            return 1
        except ReplacedCluster:
            forget_history(cluster.pk, token)
            leases.release(cluster.pk, token, Cluster.State.CONNECTING, REPLACED)
            return 1
        except (connections.CannotConnect, TransportError) as problem:
            message = str(problem)
            print(message, file=sys.stderr)
    state = Cluster.State.FAILED if message else Cluster.State.STOPPED
    leases.release(cluster.pk, token, state, message)
    return 1 if message else 0


async def until_signal(
    cluster: Cluster, token: str, connection: connections.Connection, started: Callable[[], None]
) -> None:
    from kubesched_ui.clusters.follower import follow

    task = asyncio.create_task(follow(cluster, token, connection, started))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
