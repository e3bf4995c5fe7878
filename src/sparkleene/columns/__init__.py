"""From Arrow tables, data frames and files to arrays: times, keys, labels, values, and expressions over them."""
