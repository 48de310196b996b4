"""A run's life: settings, start, claim, tasks, cancelling, being taken up again."""
