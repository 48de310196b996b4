"""The Django project and its one app."""

from kubesched_ui.celery import app as celery_app

__all__ = ["celery_app"]
