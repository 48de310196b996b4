"""The classroom: lessons whose figures and answers are computed from a run. The format is docs/lessons.md."""
