"""From a bound query to a plan: the machine, the predicates, and in physical.py which algorithm runs."""
