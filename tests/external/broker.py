"""A Kafka broker of this machine: one process, without ZooKeeper, in a folder of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

from tests.external.jars import BROKER, fetch_jars

from sparkleene.spark.session import find_java

ID = "MkU3OEVBNTcwNTJENDM2Qk"
SMALL = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class Broker:
    """A broker that can be stopped and started again, on the same ports and with the same messages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port, control = free_ports(2)
        self.address = f"127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.jars = os.pathsep.join(fetch_jars("broker", BROKER, ()))
        (folder / "server.properties").write_text(
            f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{control}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{control}\n"
            f"advertised.listeners=PLAINTEXT://{self.address}\ncontroller.listener.names=CONTROLLER\n"
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
            f"log.dirs={folder / 'logs'}\nauto.create.topics.enable=true\nnum.partitions=2\n"
            "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            "transaction.state.log.num.partitions=1\ngroup.initial.rebalance.delay.ms=0\n"
        )
        self._run("kafka.tools.StorageTool", "format", "-t", ID, "-c", "server.properties")

    def _command(self, main: str, *words: str) -> list[str]:
        return [find_java()[0], *SMALL, "-cp", self.jars, main, *words]

    def _run(self, main: str, *words: str) -> None:
        command = self._command(main, *words)
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> Broker:
        """Start it, and wait until it answers."""
        with (self.folder / "output").open("a") as output:
            self.process = subprocess.Popen(
                self._command("kafka.Kafka", "server.properties"), cwd=self.folder, stdout=output, stderr=output
            )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            assert self.process.poll() is None, (self.folder / "output").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.2)
        raise AssertionError("the broker does not answer")

    def stop(self) -> None:
        """End it as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback address that nobody listens at."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
