"""Alibaba's GPU cluster trace (openb): as a scenario, and the published comparison of placement policies on it."""
