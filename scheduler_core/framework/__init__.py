"""The scheduling framework: the contracts of plugins (`interface`) and what calls them (`runtime`)."""
