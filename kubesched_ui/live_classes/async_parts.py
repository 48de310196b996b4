"""Slow parts of a shared run page: suggested fixes, and the cluster of a large run.

They are rendered outside the web process and stored in the shared cache. When a part is ready, the version of the
live class increases, so clients fetch the page again. Until then the page shows a placeholder sentence.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import NamedTuple

from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.db import connections
from django.db.models import F
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from kubesched_ui import current_viewer
from kubesched_ui.live_classes import cluster_preview, impersonated_view, publisher
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.impersonated_view import Section
from kubesched_ui.live_classes.models import Room
from kubesched_ui.offload import client
from kubesched_ui.offload.pool import OffloadError
from kubesched_ui.offload.routes import LARGE
from kubesched_ui.queries.recording_cache import NotRecorded

logger = logging.getLogger(__name__)

KEPT_S = 3600
AGAIN_S = 60  # after this time a failed part is retried, and a part of an active run is rendered again
SALT, TOKEN_S = "rooms.later", 600
THREADS = 3  # number of threads that wait for offloaded requests
SAYS = '{}<p class="small" role="status">{}</p>'
HEADS = {
    "why": mark_safe('<h2 id="t-why">Suggested fixes</h2>'),
    "together": mark_safe("<h3>Suggested fixes</h3>"),
}
WAITING = {"map": "Drawing the cluster …"}

_here = threading.Lock()


class Job(NamedTuple):
    """A request to render one part of the page at an address."""

    room: int
    address: str
    what: str
    load: str


def part(room: Room, section: Section) -> str:
    """Return the HTML of a part. If it is not in the cache, render it, or request it and return a placeholder."""
    assert room.run is not None
    job, key = Job(room.pk, room.address, *section), key_of(room, *section)
    found: str | None = cache.get(key)
    if found is not None:
        return found
    if settings.OFFLOAD and (section.address or room.run.cycles_done > LARGE):
        _makers.ask(job)
        return says(job, WAITING.get(section.name, "Simulating fixes …"))
    with _here:
        found = cache.get(key)
        if found is None:
            found = make(room, job)
            cache.set(key, found, AGAIN_S if room.run.active else KEPT_S)
    return found


def key_of(room: Room, what: str, load: str) -> str:
    """Return the cache key of a part. It changes when the state of the run changes, but not with the run's progress."""
    run = room.run
    assert run is not None
    told = f"{room.pk}/{run.pk}/{run.created_at.timestamp()}/{run.state}/{what}/{load or room.address}"
    return f"room-part-{hashlib.sha256(told.encode()).hexdigest()}"


def make(room: Room, job: Job) -> str:
    """Render a part in this process with the permissions of the students. Raises Refused."""
    who = impersonated_view.class_of(room)
    if not job.load:
        assert room.run is not None
        with current_viewer.looking(who), suppress(NotRecorded):
            return cluster_preview.card(room.run, job.address)
        return ""
    return impersonated_view.section(job.load, who) or says(job, "This part could not be loaded.")


def says(job: Job, sentence: object) -> str:
    """Return a sentence in place of a part."""
    return format_html(SAYS, HEADS.get(job.what, ""), sentence)


# ---- outside the web process


def token_of(job: Job) -> str:
    """Return a signed token for a job. Only processes of this installation can create one."""
    return signing.dumps(list(job), salt=SALT)


def by_token(token: str) -> str:
    """Render the part that a token names. Raises Refused if the live class shows another page or is over."""
    try:
        job = Job(*signing.loads(token, salt=SALT, max_age=TOKEN_S))
    except (signing.BadSignature, TypeError):
        raise Refused("There is nothing at this address.", 404) from None
    room = _room_of(job)
    if room is None:
        raise Refused("The class shows another page now.", 404)
    return make(room, job)


def _room_of(job: Job) -> Room | None:
    return Room.objects.live().select_related("run", "owner").filter(pk=job.room, address=job.address).first()


def fetch(job: Job) -> None:
    """Render a part outside this process, cache it, and notify viewers if the class still shows that page."""
    room = _room_of(job)
    if room is None or room.run is None:
        return
    key, seconds = key_of(room, job.what, job.load), AGAIN_S if room.run.active else KEPT_S
    try:
        html = client.fetch(reverse("room-made", args=[token_of(job)]), str(room.run_id))
    except OffloadError as problem:
        html, seconds = says(job, problem), AGAIN_S
    if cache.add(key, html, seconds):
        Room.objects.filter(pk=job.room, address=job.address).update(version=F("version") + 1)
        publisher.publish(job.room)


class Makers:
    """A few threads that fetch parts. Of each live class and part, only the newest request is kept."""

    def __init__(self) -> None:
        self.wanted: OrderedDict[tuple[int, str], Job] = OrderedDict()
        self.under_way: set[Job] = set()
        self.some = threading.Condition()
        self.threads = 0

    def ask(self, job: Job) -> None:
        """Queue a job. Returns at once; can be called from any thread."""
        with self.some:
            if job in self.under_way:
                return
            self.wanted[job.room, job.what] = job
            if self.threads < THREADS:
                self.threads += 1
                threading.Thread(target=self.run, name="room-parts", daemon=True).start()
            self.some.notify()

    def run(self) -> None:
        """Fetch queued parts in an endless loop."""
        while True:
            with self.some:
                while not self.wanted:
                    self.some.wait()
                _, job = self.wanted.popitem(last=False)
                self.under_way.add(job)
            try:
                fetch(job)
            except Exception:
                logger.exception("A part of a class page could not be rendered")
            finally:
                with self.some:
                    self.under_way.discard(job)
                connections.close_all()


_makers = Makers()
