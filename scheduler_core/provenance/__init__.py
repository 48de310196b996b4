"""Explains where a number comes from, as a tree whose inner values are computed from its leaves."""
