"""A run in time: the virtual clock, the timeline, what is written and who hears of it, scenario files."""
