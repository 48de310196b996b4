"""Expensive questions are answered by processes beside the web process, bounded in number, memory and time."""
