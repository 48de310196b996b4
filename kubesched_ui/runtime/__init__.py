"""The processes of a machine: their environment, start, supervision, locks and outages."""
