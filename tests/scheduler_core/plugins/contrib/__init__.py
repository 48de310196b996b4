"""Tests of the plugins of scheduler-plugins."""
