"""Examples that the help of commands shows."""

_LINES = {
    "run": r"""
sparkleene run query.q events/ --output result.parquet
sparkleene run query.q 'logs/*.csv' --time ts --type kind --engine local --plot
sparkleene run funnels.q clicks.parquet --query more.q --engine local --stats
sparkleene run 'RETURN COUNT(*) PATTERN SEQ(Cheap+, Dear)' stocks.csv --time ts \
    --define 'Cheap=price < 10' --define 'Dear=price > 90' --engine local
""",
    "funnel": r"""
sparkleene funnel clicks.parquet View Cart Buy --by user --within '30 minutes' --plot
sparkleene funnel 'clicks/*.csv' View 'Search S+' Buy --by user --every '1 day' --breakdown platform
sparkleene funnel pages.csv "Shop=page = '/'" "Till=page = '/till'" --by visitor --exclude Error
""",
    "trends": r"""
sparkleene trends query.q events.parquet --limit 5
sparkleene trends query.q events.parquet --order sample --seed 7
""",
    "why": r"""
sparkleene why query.q events.parquet --group user=ann --window 2024-01-01T10:00
""",
    "explain": r"""
sparkleene explain query.q
sparkleene explain query.q --svg --output automaton.svg
sparkleene explain query.q --dot | dot -Tpng > automaton.png
""",
    "check": r"""
sparkleene check queries/*.q --schema events.parquet
""",
    "generate": r"""
sparkleene generate stock --events 100000 --output stock.parquet
sparkleene generate rides --groups 500 --seed 7 --output rides.csv
""",
    "stream": r"""
sparkleene stream query.q generate:stock --option rate=10000 --watermark '2 seconds'
sparkleene stream query.q replay:stock.parquet --option speed=60
sparkleene stream query.q incoming/ --output windows/ --trigger '10 seconds'
sparkleene stream queries.q incoming/ --watch
sparkleene stream query.q kafka://localhost:9092/clicks --schema 'time timestamp, type string, user long' \
    --conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0
""",
    "serve": r"""
sparkleene serve
sparkleene serve events/ clicks.parquet
sparkleene serve events/ --host 0.0.0.0 --name events.example.org
""",
}
EXAMPLES = {
    name: "\b\nExamples:\n" + "\n".join(f"  {line}" for line in text.strip().splitlines())
    for name, text in _LINES.items()
}
