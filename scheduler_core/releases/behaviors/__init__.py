"""The behaviours that differ between releases: a module for each plugin or package that reads them.

`release.py` collects them."""
