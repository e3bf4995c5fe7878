"""The command line: `sparkleene run QUERY EVENTS...` and what belongs to it.

`app` has the commands, each a few lines; the other modules do what a command needs: read (`inputs`), start Spark
(`spark_session`), run a stream (`stream`, `stream_sources`), write and show (`output_files`, `show`, `results`,
`progress`), and turn what goes wrong into a message (`failures`).
"""


def main() -> None:
    """Run the command line."""
    import sys

    from sparkleene.cli.app import app
    from sparkleene.cli.failures import report_failures

    with report_failures():  # what goes wrong around commands, such as printing their help
        try:
            app(prog_name="sparkleene")
        except SystemExit:
            sys.stdout.flush()
            raise
