"""Queries over Spark DataFrames: adapters around the in-process engine, without semantics of their own."""
