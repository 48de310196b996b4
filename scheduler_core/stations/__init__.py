"""At which station a pod waits on its way to run, for what, since when, and who says so (docs/stations.md)."""
