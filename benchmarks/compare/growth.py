"""All trends of n falling prices: Flink CEP emits each match, Sparkleene counts them. CPU seconds.

Run with the Python that has Sparkleene; the arguments are the folder of Flink's jars (see README.md) and the
seconds that Flink gets for each of its two patterns.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import sparkleene as sk

HERE = Path(__file__).parent
FLINK, MORE = (5, 10, 12, 14, 15, 16, 17, 18), (1_000, 100_000)


def flink(jars: str, limit: float) -> dict[str, dict[int, list[str]]]:
    """Return matches and CPU seconds per pattern and n, as far as it gets; a JVM's first job is not counted."""
    results = {}
    with tempfile.TemporaryDirectory() as classes:
        path = f"{jars}/*:{classes}"
        subprocess.run(["javac", "-d", classes, "-cp", path, HERE / "FlinkCep.java"], check=True)
        for pattern in ("falling", "all"):
            numbers = [str(n) for n in (FLINK[0], *FLINK)]
            command = ["java", "-Xmx4g", "-cp", path, "FlinkCep", pattern, *numbers]
            try:
                out = subprocess.run(command, capture_output=True, timeout=limit).stdout
            except subprocess.TimeoutExpired as expired:
                out = expired.stdout or b""
            lines = [line.split() for line in out.decode().splitlines() if line[:1].isdigit()]
            results[pattern] = {int(n): rest for n, *rest in lines}
    return results


def sparkleene() -> dict[int, tuple[dict[str, float], float]]:
    """Return the row and the CPU seconds for each n; the first run, which compiles, is not counted."""
    query = sk.query("RETURN COUNT(*), LOG2(COUNT(*)) PATTERN Stock S+ WHERE S.price > NEXT(S).price", type=None)
    results = {}
    for n in (FLINK[0], *FLINK, *MORE):
        data = pa.table({"time": range(n), "price": range(n, 0, -1)})
        start = time.process_time()
        row = query.run(data).to_pylist()[0]
        results[n] = (row, time.process_time() - start)
    return results


def main() -> None:
    theirs, ours = flink(sys.argv[1], float(sys.argv[2])), sparkleene()
    print(f"{'n':>7} {'falling':>9} {'CPU s':>8} {'all':>9} {'CPU s':>8} {'count':>11} {'log2':>9} {'CPU s':>8}")
    for n, (row, seconds) in ours.items():
        cells = [cell for pattern in theirs.values() for cell in pattern.get(n, ["-", "-"])]
        print(
            f"{n:>7} {cells[0]:>9} {cells[1]:>8} {cells[2]:>9} {cells[3]:>8} "
            f"{row['count']:>11.5g} {row['log2_count']:>9.1f} {seconds:>8.4f}"
        )


if __name__ == "__main__":
    main()
