"""The Celery application; workers start with `celery -A kubesched_ui worker`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")

app = Celery("kubesched_ui")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["kubesched_ui.runs", "kubesched_ui.upgrades"])
app.autodiscover_tasks(["kubesched_ui.observability"], related_name="task_correlation")  # request ids in the log
app.autodiscover_tasks(["kubesched_ui.housekeeping"], related_name="tasks")
app.autodiscover_tasks(["kubesched_ui.live_classes"], related_name="cleanup")  # deletes expired live classes
