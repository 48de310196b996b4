"""An API server for tests: lists and watches with history, the faults of real servers, and a log of the requests."""
