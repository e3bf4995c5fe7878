"""Files and generators played as a live stream: a data source of Spark."""
