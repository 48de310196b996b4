"""Startup, supervision, locks between processes and shutdown, on one machine or several."""
