"""A run that goes on from a moment of another, with something changed. See docs/debugger.md."""
