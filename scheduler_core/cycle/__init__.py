"""One scheduling cycle (`schedule_one`, START THERE), its record and the extenders."""
