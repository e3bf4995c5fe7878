import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Run outside of make too: Spark's workers use this Python, on the Java that `make setup` brought, if it did.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
if Path(sys.prefix, "jre", "bin", "java").exists():
    os.environ["JAVA_HOME"] = str(Path(sys.prefix, "jre"))

# The first call of a compiled kernel takes seconds, so no example has a deadline.
slow_first_call = [HealthCheck.too_slow]
settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=slow_first_call)
settings.register_profile("ci", settings.get_profile("default"), derandomize=False, print_blob=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
