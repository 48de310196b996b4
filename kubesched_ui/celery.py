"""The Celery application; workers start with `celery -A kubesched_ui worker`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")

app = Celery("kubesched_ui")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["kubesched_ui.runs", "kubesched_ui.upgrades"])
app.autodiscover_tasks(["kubesched_ui.observability"], related_name="carried")  # request ids in the log
app.autodiscover_tasks(["kubesched_ui.housekeeping"], related_name="tidying")
app.autodiscover_tasks(["kubesched_ui.live_classes"], related_name="sweeping")  # deletes expired live classes
