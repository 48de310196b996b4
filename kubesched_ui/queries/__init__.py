"""Questions to a recorded run, answered by the core from what was stored; bounded, and remembered for a while."""
