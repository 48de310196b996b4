"""The Django project and its main app."""

__version__ = "1.0.0"  # The only place that defines the version.
