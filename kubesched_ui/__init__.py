"""The Django project and its one app."""

__version__ = "1.0.0"  # the one place that holds the version
