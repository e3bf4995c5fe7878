"""The three questions in Flink SQL's MATCH_RECOGNIZE, over the CSV files beside this script: batch or streaming."""

import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

HERE = Path(__file__).parent

TABLES = {
    "clicks": "`user` STRING, `type` STRING",
    "stocks": "company STRING, price DOUBLE",
    "refunds": "`user` STRING, `type` STRING",
}

QUERIES = {
    "1 contiguous": """
        SELECT `user`, hr, COUNT(*) AS trends, AVG(1.0 * length) AS avg_length
        FROM clicks MATCH_RECOGNIZE (
            PARTITION BY `user`, hr ORDER BY ts
            MEASURES COUNT(V.`type`) + 2 AS length
            ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
            PATTERN (V+ C B)
            DEFINE V AS V.`type` = 'View', C AS C.`type` = 'Cart', B AS B.`type` = 'Buy')
        GROUP BY `user`, hr""",
    "1 next": """
        SELECT `user`, hr, COUNT(*) AS trends, AVG(1.0 * length) AS avg_length
        FROM clicks MATCH_RECOGNIZE (
            PARTITION BY `user`, hr ORDER BY ts
            MEASURES 3 + COALESCE(SUM(CASE WHEN X.`type` = 'View' THEN 1 ELSE 0 END), 0) AS length
            ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
            PATTERN (V X* C Y* B)
            DEFINE V AS V.`type` = 'View', X AS X.`type` <> 'Cart', C AS C.`type` = 'Cart',
                   Y AS Y.`type` <> 'Buy', B AS B.`type` = 'Buy')
        GROUP BY `user`, hr""",
    "2 longest falling run from every price": """
        SELECT company, win, first_price, last_price, prices
        FROM stocks MATCH_RECOGNIZE (
            PARTITION BY company, win ORDER BY ts
            MEASURES S.price AS first_price, COALESCE(LAST(D.price), S.price) AS last_price,
                     1 + COUNT(D.price) AS prices
            ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
            PATTERN (S D* E)
            DEFINE D AS D.price < LAST(price, 1), E AS E.price >= LAST(price, 1))""",
    "2 with a greedy quantifier at the end": """
        SELECT company, prices
        FROM stocks MATCH_RECOGNIZE (
            PARTITION BY company, win ORDER BY ts
            MEASURES 1 + COUNT(D.price) AS prices
            PATTERN (S D*) DEFINE D AS D.price < LAST(price, 1))""",
    "3": """
        SELECT `user`, COUNT(*) AS trends
        FROM refunds MATCH_RECOGNIZE (
            PARTITION BY `user`, hr ORDER BY ts
            MEASURES V.ts AS last_view
            ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
            PATTERN (V X* B)
            DEFINE V AS V.`type` = 'View', X AS X.`type` NOT IN ('Refund', 'Buy'), B AS B.`type` = 'Buy')
        GROUP BY `user`""",
    "nested Kleene": """
        SELECT * FROM clicks MATCH_RECOGNIZE (
            PARTITION BY `user` ORDER BY ts MEASURES COUNT(V.ts) AS n
            PATTERN ((V+ C)+ B)
            DEFINE V AS V.`type` = 'View', C AS C.`type` = 'Cart', B AS B.`type` = 'Buy')""",
}


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else "batch"
    settings = EnvironmentSettings.new_instance()
    settings = settings.in_batch_mode() if mode == "batch" else settings.in_streaming_mode()
    env = TableEnvironment.create(settings.build())
    env.get_config().set("parallelism.default", "1")
    for name, columns in TABLES.items():  # the line with the names of the columns gets a time long before
        env.execute_sql(f"""
            CREATE TABLE {name} (`time` STRING, {columns},
                ts AS COALESCE(TO_TIMESTAMP(`time`), TIMESTAMP '2000-01-01 00:00:00.000'),
                hr AS SUBSTRING(`time`, 1, 13), win AS SUBSTRING(`time`, 1, 15), WATERMARK FOR ts AS ts)
            WITH ('connector' = 'filesystem', 'path' = '{HERE / name}.csv',
                  'format' = 'csv', 'csv.ignore-parse-errors' = 'true')""")
    for name, query in QUERIES.items():
        print("---", mode, name)
        try:
            with env.execute_sql(query).collect() as rows:
                for row in rows:
                    print(row.get_row_kind().name, *row)
        except Exception as error:
            print(next((line for line in reversed(str(error).splitlines()) if "Exception:" in line), error))


if __name__ == "__main__":
    main()
