"""Commands for Spark's process: a socket in a private folder, however long the folder's name is."""

from __future__ import annotations

import threading
from multiprocessing.connection import Client, Listener
from pathlib import Path

from sfcperf.services.classifier.spark.commands import SOCKET, short_path


def test_a_folder_with_a_long_name(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 200)
    folder.mkdir()

    def ask() -> None:
        with short_path(folder / SOCKET) as address, Client(address, authkey=b"key") as client:
            client.send_bytes(b"asked")

    with short_path(folder / SOCKET) as address, Listener(address, authkey=b"key") as listener:
        assert (folder / SOCKET).is_socket()
        thread = threading.Thread(target=ask)
        thread.start()
        with listener.accept() as connection:
            assert connection.recv_bytes() == b"asked"
        thread.join()
