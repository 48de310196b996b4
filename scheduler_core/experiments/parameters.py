"""Parameters of the questions: the section of an Experiment document that has the name of its question."""

from __future__ import annotations

from scheduler_core.virtual_time.scenario import StrictStruct


class NoiseParameters(StrictStruct, kw_only=True):
    """Noise has no parameters: its seeds are those of the document."""


class CapacityParameters(StrictStruct, kw_only=True):
    """Parameters of capacity."""


class LossParameters(StrictStruct, kw_only=True):
    """Parameters of drain and loss."""


class BuyParameters(StrictStruct, kw_only=True):
    """Parameters of buy."""


class TuneParameters(StrictStruct, kw_only=True):
    """Parameters of tune."""


class MovesParameters(StrictStruct, kw_only=True):
    """Parameters of moves."""


class PackingParameters(StrictStruct, kw_only=True):
    """Parameters of compaction and workload inflation."""
