"""`kubectl kubesched`: the plugin of kubectl. `plugin.py` is its command line."""
