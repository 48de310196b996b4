"""Reads a live cluster: lists and watches its objects, keeps them in a store, and orders their changes."""
