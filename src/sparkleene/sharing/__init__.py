"""Many queries over the same events: which are evaluated together, and how."""
