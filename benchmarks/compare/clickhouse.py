"""The three questions in ClickHouse, in process by chDB, over the CSV files beside this script."""

from pathlib import Path

from chdb import session

HERE = Path(__file__).parent

TABLES = {
    "clicks": "user String, type String",
    "stocks": "company String, price Float64",
    "refunds": "user String, type String",
}

QUERIES = {
    "1": """
        SELECT user, toStartOfHour(time) AS hour,
            windowFunnel(3600)(time, type = 'View', type = 'Cart', type = 'Buy') AS level,
            sequenceMatch('(?1).*(?2).*(?3)')(time, type = 'View', type = 'Cart', type = 'Buy') AS found,
            sequenceCount('(?1).*(?2).*(?3)')(time, type = 'View', type = 'Cart', type = 'Buy') AS chains,
            sequenceCount('(?1)(?2)(?3)')(time, type = 'View', type = 'Cart', type = 'Buy', true) AS adjacent,
            retention(type = 'View', type = 'Cart', type = 'Buy') AS kept
        FROM clicks GROUP BY user, hour ORDER BY user, hour""",
    "1 with a quantifier": """
        SELECT sequenceCount('(?1)+(?2)(?3)')(time, type = 'View', type = 'Cart', type = 'Buy') FROM clicks""",
    "1 any, by hand": """
        SELECT user, hour, sum(exp2(views) - 1) AS trends
        FROM (SELECT b.user AS user, toStartOfHour(b.time) AS hour,
                     countIf(v.type = 'View' AND v.time < c.time) AS views
              FROM clicks AS b JOIN clicks AS c ON c.user = b.user JOIN clicks AS v ON v.user = b.user
              WHERE b.type = 'Buy' AND c.type = 'Cart' AND c.time < b.time
                AND toStartOfHour(c.time) = toStartOfHour(b.time)
                AND toStartOfHour(v.time) = toStartOfHour(b.time)
              GROUP BY b.user, b.time, c.time)
        GROUP BY user, hour ORDER BY user, hour""",
    "2 with a recursive query": """
        WITH RECURSIVE
            s AS (SELECT company, toStartOfInterval(time, INTERVAL 10 MINUTE) AS start, time, price FROM stocks),
            t AS (SELECT company, start, time, price, toUInt64(1) AS length, price AS total FROM s
                  UNION ALL
                  SELECT s.company, s.start, s.time, s.price, t.length + 1, t.total + s.price
                  FROM t JOIN s ON s.company = t.company AND s.start = t.start
                  WHERE s.time > t.time AND s.price < t.price)
        SELECT company, start, count() AS trends, sum(total) / sum(length) AS avg_price
        FROM t GROUP BY company, start ORDER BY company, start""",
    "2 by hand, with arrayFold": """
        SELECT company, start,
            arrayFold((done, p) -> arrayPushBack(done, (p, 1 + arraySum(e -> if(e.1 > p, e.2, 0.), done))),
                arrayMap(x -> x.2, arraySort(groupArray((time, price)))),
                CAST([], 'Array(Tuple(Float64, Float64))')) AS ending_here,
            arraySum(e -> e.2, ending_here) AS trends
        FROM (SELECT *, toStartOfInterval(time, INTERVAL 10 MINUTE) AS start FROM stocks)
        GROUP BY company, start ORDER BY company, start""",
    "3": """
        SELECT user,
            sequenceMatch('(?1)(?3)')(time, type = 'View', type = 'Refund', type = 'Buy') AS found,
            sequenceCount('(?1)(?3)')(time, type = 'View', type = 'Refund', type = 'Buy') AS chains
        FROM refunds GROUP BY user ORDER BY user""",
}


def main() -> None:
    run = session.Session().query
    print("ClickHouse", run("SELECT version()"))
    for name, columns in TABLES.items():
        columns = f"time DateTime, {columns}"
        run(f"CREATE TABLE {name} ({columns}) ENGINE = Memory")
        run(f"INSERT INTO {name} SELECT * FROM file('{HERE / name}.csv', 'CSVWithNames', '{columns}')")
    for name, query in QUERIES.items():
        print("---", name)
        try:
            print(run(query, "PrettyCompactNoEscapes"))
        except Exception as error:
            print(error)


if __name__ == "__main__":
    main()
