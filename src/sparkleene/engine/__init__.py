"""One pass of a plan over a table: run.py leads the way, from rows in order to windows, kernels and results."""
