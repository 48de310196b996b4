"""Two recordings side by side: what differs between the runs, and what came of it. See docs/debugger.md."""
