"""KubeSchedulerConfiguration -> profiles. `load_configuration` is the way in."""

from scheduler_core.config.configuration import Configuration, load_configuration
from scheduler_core.config.profile import POINTS, KnownPlugins, Profile
from scheduler_core.config.schema import Extender

__all__ = ["POINTS", "Configuration", "Extender", "KnownPlugins", "Profile", "load_configuration"]
