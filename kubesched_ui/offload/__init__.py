"""Runs expensive or risky work in pools of worker processes with limits of number, memory and time."""
