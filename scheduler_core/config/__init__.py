"""KubeSchedulerConfiguration and Policy -> profiles. The entry point is `load_configuration`."""

from scheduler_core.config.configuration import APPENDING, Configuration, load_configuration
from scheduler_core.config.policy_conversion import UnreadPolicy
from scheduler_core.config.profile import POINTS, KnownPlugins, Profile
from scheduler_core.config.schema import Extender
from scheduler_core.config.unknown_plugins import Unknown, UnknownPlugins

__all__ = [
    "APPENDING",
    "POINTS",
    "Configuration",
    "Extender",
    "KnownPlugins",
    "Profile",
    "Unknown",
    "UnknownPlugins",
    "UnreadPolicy",
    "load_configuration",
]
