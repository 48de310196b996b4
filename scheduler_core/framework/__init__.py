"""The scheduling framework: the plugin interfaces (`interface`) and the code that calls them (`runtime`)."""
