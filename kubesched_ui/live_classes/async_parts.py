"""Slow parts of a shared run page: suggested fixes, and the cluster of a large run.

They are rendered outside the web process and stored in the shared cache. When a part is ready, the version of the
live class increases, so clients fetch the page again. Until then the page shows a placeholder sentence.
"""

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

from kubesched_ui.live_classes import cluster_preview, impersonated_view, publisher
from kubesched_ui.live_classes.impersonated_view import PageSection
from kubesched_ui.live_classes.models import LiveClass, Rejected
from kubesched_ui.models import current_viewer
from kubesched_ui.offload import client
from kubesched_ui.offload.middleware import LARGE
from kubesched_ui.offload.pool import OffloadError
from kubesched_ui.queries.recording_cache import NotRecorded

logger = logging.getLogger(__name__)

CACHE_S = 3600
RETRY_S = 60  # after this time a failed part is retried, and a part of an active run is rendered again
SALT, TOKEN_S = "live-class-parts", 600
THREADS = 3  # number of threads that wait for offloaded requests
MESSAGE = '{}<p class="small" role="status">{}</p>'
HEADS = {
    "why": mark_safe('<h2 id="t-why">Suggested fixes</h2>'),
    "together": mark_safe('<h2 id="t-together">Pods without a node</h2>'),
}
WAITING = {"map": "Drawing the cluster …"}

_render_lock = threading.Lock()


class Job(NamedTuple):
    """A request to render one part of the page at an address."""

    live_class: int
    address: str
    what: str
    load: str


def part(live_class: LiveClass, section: PageSection) -> str:
    """Return the HTML of a part. If it is not in the cache, render it, or request it and return a placeholder."""
    assert live_class.run is not None
    job, key = Job(live_class.pk, live_class.address, *section), key_of(live_class, *section)
    found: str | None = cache.get(key)
    if found is not None:
        return found
    if settings.OFFLOAD and (section.address or live_class.run.cycles_done > LARGE):
        _renderers.queue(job)
        return message(job, WAITING.get(section.name, "Simulating fixes …"))
    with _render_lock:
        found = cache.get(key)
        if found is None:
            found = make(live_class, job)
            cache.set(key, found, RETRY_S if live_class.run.active else CACHE_S)
    return found


def key_of(live_class: LiveClass, what: str, load: str) -> str:
    """Return the cache key of a part. It changes when the state of the run changes, but not with the run's progress."""
    run = live_class.run
    assert run is not None
    text = f"{live_class.pk}/{run.pk}/{run.created_at.timestamp()}/{run.state}/{what}/{load or live_class.address}"
    return f"live-class-part-{hashlib.sha256(text.encode()).hexdigest()}"


def make(live_class: LiveClass, job: Job) -> str:
    """Render a part in this process with the permissions of the students. Raises Rejected."""
    who = impersonated_view.class_of(live_class)
    if not job.load:
        assert live_class.run is not None
        with current_viewer.as_viewer(who), suppress(NotRecorded):
            return cluster_preview.card(live_class.run, job.address)
        return ""
    return impersonated_view.section(job.load, who) or message(job, "This part could not be loaded.")


def message(job: Job, sentence: object) -> str:
    """Return a sentence in place of a part."""
    return format_html(MESSAGE, HEADS.get(job.what, ""), sentence)


# ---- outside the web process


def token_of(job: Job) -> str:
    """Return a signed token for a job. Only processes of this installation can create one."""
    return signing.dumps(list(job), salt=SALT)


def by_token(token: str) -> str:
    """Render the part that a token names. Raises Rejected if the live class shows another page or is over."""
    try:
        job = Job(*signing.loads(token, salt=SALT, max_age=TOKEN_S))
    except (signing.BadSignature, TypeError):
        raise Rejected("Nothing exists at this address.", 404) from None
    live_class = _live_class_of(job)
    if live_class is None:
        raise Rejected("The class now shows another page.", 404)
    return make(live_class, job)


def _live_class_of(job: Job) -> LiveClass | None:
    found = LiveClass.objects.live().select_related("run", "owner")
    return found.filter(pk=job.live_class, address=job.address).first()


def fetch(job: Job) -> None:
    """Render a part outside this process, cache it, and notify viewers if the class still shows that page."""
    live_class = _live_class_of(job)
    if live_class is None or live_class.run is None:
        return
    key, seconds = key_of(live_class, job.what, job.load), RETRY_S if live_class.run.active else CACHE_S
    try:
        html = client.fetch(reverse("live-class-made", args=[token_of(job)]), str(live_class.run_id))
    except OffloadError as problem:
        html, seconds = message(job, problem), RETRY_S
    if cache.add(key, html, seconds):
        LiveClass.objects.filter(pk=job.live_class, address=job.address).update(version=F("version") + 1)
        publisher.publish(job.live_class)


class Renderers:
    """A few threads that fetch parts. Of each live class and part, only the newest request is kept."""

    def __init__(self) -> None:
        self.queued: OrderedDict[tuple[int, str], Job] = OrderedDict()
        self.running: set[Job] = set()
        self.condition = threading.Condition()
        self.threads = 0

    def queue(self, job: Job) -> None:
        """Queue a job. Returns at once; can be called from any thread."""
        with self.condition:
            if job in self.running:
                return
            self.queued[job.live_class, job.what] = job
            if self.threads < THREADS:
                self.threads += 1
                threading.Thread(target=self.run, name="live-class-parts", daemon=True).start()
            self.condition.notify()

    def run(self) -> None:
        """Fetch queued parts in an endless loop."""
        while True:
            with self.condition:
                while not self.queued:
                    self.condition.wait()
                _, job = self.queued.popitem(last=False)
                self.running.add(job)
            try:
                fetch(job)
            except Exception:
                logger.exception("A part of a class page could not be rendered")
            finally:
                with self.condition:
                    self.running.discard(job)
                connections.close_all()


_renderers = Renderers()
