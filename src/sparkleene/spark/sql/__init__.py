"""Conditions and values as columns of Spark SQL, and as filters on Parquet files."""
