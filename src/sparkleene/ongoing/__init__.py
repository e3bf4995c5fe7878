"""Rows that come piece by piece: stretches of time as matrices, and the state of windows that are still open."""
