"""A name server for the names of the services, like Docker's."""

from __future__ import annotations

import socket
import threading


class NameServer:
    """Responds with the addresses of names; `known` may change at any time."""

    def __init__(self, address: str) -> None:
        self.known: dict[str, list[str]] = {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53_000))
        threading.Thread(target=self._serve, name="names", daemon=True).start()

    def close(self) -> None:
        self.socket.close()

    def _serve(self) -> None:
        while True:
            try:
                question, asker = self.socket.recvfrom(512)
                self.socket.sendto(self._answer(question), asker)
            except OSError:
                return

    def _answer(self, question: bytes) -> bytes:
        """Return the header, the question, and an A record (TTL ten minutes) for each address: RFC 1035, 4.1."""
        labels, at = [], 12
        while length := question[at]:
            labels.append(question[at + 1 : at + 1 + length].decode())
            at += length + 1
        end, kind = at + 5, question[at + 1 : at + 3]
        addresses = self.known.get(".".join(labels), [])
        shown = addresses if kind == b"\0\x01" else []
        code = b"\x81\x80" if addresses else b"\x81\x83"
        header = question[:2] + code + b"\0\x01" + len(shown).to_bytes(2) + b"\0\0\0\0"
        record = b"\xc0\x0c\0\x01\0\x01" + (600).to_bytes(4) + b"\0\x04"
        return header + question[12:end] + b"".join(record + socket.inet_aton(address) for address in shown)
