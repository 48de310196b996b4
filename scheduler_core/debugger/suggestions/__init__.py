"""What would have to change: searched for, and proved by running the pod's cycle with it in the rewound cluster.

`search.py` is where to begin. A `Step` (`steps.py`) takes one obstacle away; the files named after a side know which
steps there are against a plugin's refusal; `trial.py` runs the cycle with them and puts everything back.
"""
