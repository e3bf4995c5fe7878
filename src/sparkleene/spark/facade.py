"""Where the library's front door meets Spark: data in, whatever is asked of it out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from sparkleene.spark import batch, by_path
from sparkleene.spark.parquet import discover
from sparkleene.spark.request import Request, zone
from sparkleene.spark.session import session
from sparkleene.spark.strategy import MEANING


def opened(data: Any) -> tuple[list[str], Callable[..., Any]]:
    """Return the names of the data's columns, and a function that asks something of it.

    `data` is a DataFrame, or the path of Parquet files, or several.
    """
    if not isinstance(data, str | os.PathLike | list | tuple):

        def ask(what: str, *given: Any) -> Any:
            request = Request(*given)
            if what == "run":
                return batch.run(request, data)
            _, _, choice = batch.planned(request, data)
            return choice

        return list(data.columns), ask
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = data
    spark = session()
    files = discover(paths, zone(spark))

    def ask_path(what: str, *given: Any) -> Any:
        request = Request(*given)
        if what == "run":
            return by_path.run(request, files, spark)
        _, _, choice = by_path.planned(request, files, spark)
        return choice

    return files.schema.names, ask_path


__all__ = ["MEANING", "opened"]
