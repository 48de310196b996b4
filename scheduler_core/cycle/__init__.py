"""One cycle: the way from the queue to its node (`schedule_one`, START THERE), what is recorded of it, extenders."""
