"""Queries at several levels of abstraction: concepts above types, roll-up and drill-down, cubes."""
