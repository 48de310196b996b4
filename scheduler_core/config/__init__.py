"""Configuration files to profiles: KubeSchedulerConfiguration, Policy and component configuration (`loader.py`)."""

from scheduler_core.config.configuration import APPENDING, Configuration, load_configuration
from scheduler_core.config.policy_conversion import UnreadPolicy
from scheduler_core.config.unknown_plugins import Unknown, UnknownPlugins

__all__ = ["APPENDING", "Configuration", "Unknown", "UnknownPlugins", "UnreadPolicy", "load_configuration"]
