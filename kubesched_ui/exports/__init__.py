"""Exports of a run: JSON Lines, Parquet, slides, run files."""
