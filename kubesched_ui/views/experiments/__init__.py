"""Pages of experiments: a module for each question, and what all have in common."""
