from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from tests.chance import SEED, SOAK, cases

from sparkleene.errors import SparkleeneError
from sparkleene.kernels.store import prebuilt_folder
from sparkleene.spark.class_archive import OPTIONS, java_options
from sparkleene.spark.session import find_java, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # what runs for seconds is not worth optimizing

# Run outside of make too: Spark's workers use this Python, on the Java that `make setup` brought, if it did.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
if Path(sys.prefix, "jre", "bin", "java").exists():
    os.environ["JAVA_HOME"] = str(Path(sys.prefix, "jre"))

# Their JVMs map Spark's classes, where `make test` has kept them, whatever cache folder a test has.
with suppress(SparkleeneError):
    os.environ.setdefault(OPTIONS, f"{QUICK} {java_options(find_java()[0])}")

# All kernels that any test needs are prebuilt (`make kernels`): one that is not is missing in kernels/forms.py.
if prebuilt_folder() is not None:
    os.environ.setdefault("SPARKLEENE_COMPILE", "never")

# A query may read kernels from disk the first time, so no example has a deadline.
always = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("default", max_examples=cases(24), derandomize=True, **always)
settings.register_profile("ci", settings.get_profile("default"))
settings.register_profile("soak", max_examples=1000, **always)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Hypothesis also draws constants that it finds in the modules imported so far, so that what a test draws would
# depend on the tests before it in its process.
if not SOAK and hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants


ORDER = (
    "tests/conformance/test_random.py",
    *("tests/language/", "tests/plan/", "tests/draw/", "tests/charts/", "tests/test_imports.py"),
    *("tests/spark/test_faults.py", "tests/spark/test_streaming.py", "tests/spark/test_replay.py"),
    *("tests/spark/test_batch.py", "tests/test_docs.py", "tests/cli/test_spark.py", "tests/cli/test_demo.py"),
    *("tests/spark/", "tests/cli/test_watch.py", "tests/plan/test_physical.py"),
    *("tests/engine/", "tests/workload/", "tests/olap/", "tests/ongoing/", "tests/conformance/", "tests/kernels/"),
    *("tests/columns/", "tests/cli/", "tests/", "src/"),  # short files come last, so that both end together
)


def place(name: str) -> int:
    """Return the place of a test in the order: that of the longest beginning of its name."""
    found = max((start for start in ORDER if name.startswith(start)), key=len, default=ORDER[-1])
    return ORDER.index(found)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files into the order in which two processes, who take one after the other, end at the same time."""
    items.sort(key=lambda item: place(item.nodeid))


def pytest_configure(config: pytest.Config) -> None:
    """Leave out what the library warns of: random streams tie and lack types. Tests of warnings ask for them."""
    config.addinivalue_line("filterwarnings", "ignore::sparkleene.SparkleeneWarning")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"random cases from seed {SEED}{'' if SOAK else ', the same every time'}")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with two cores, shared by all tests of this process."""
    config = {
        "spark.driver.extraJavaOptions": QUICK,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.session.timeZone": "UTC",
    }
    started = session("sparkleene tests", master="local[2]", memory="1g", config=config)
    yield started
    started.stop()
