"""The Django project and its one app."""
