"""Parquet files that tasks read themselves: which files and row groups there are, and which of them are needed."""
