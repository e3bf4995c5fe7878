"""What a stream keeps between batches, in Spark's state store, and checks of its checkpoint."""
