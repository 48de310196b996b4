"""Forks: runs that repeat another run up to a timepoint and continue with changes. See docs/debugger.md."""
