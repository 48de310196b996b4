"""The composer: a scenario as text, read as it is typed, checked, drawn, and changed by forms."""
