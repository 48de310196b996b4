"""Websockets: consumers, fan-out to viewers, permissions."""
