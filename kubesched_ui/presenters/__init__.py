"""Presenters: convert recorded data to data for templates and the API."""
