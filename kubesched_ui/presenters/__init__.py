"""Presenters: conversions of recorded data, answers and events to labels, symbols, links and rows for display."""
