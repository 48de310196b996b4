"""A TCP proxy between application and database that delays or holds bytes."""

from __future__ import annotations

import asyncio
import threading


class SlowLink:
    """Forwards bytes to `port`, `delay` seconds late in each direction."""

    def __init__(self, port: int) -> None:
        self.target, self.delay, self.port = port, 0.0, 0
        self.loop = asyncio.new_event_loop()
        listening = threading.Event()
        threading.Thread(target=self._serve, args=(listening,), name="slow link", daemon=True).start()
        listening.wait()

    def _serve(self, listening: threading.Event) -> None:
        server = self.loop.run_until_complete(asyncio.start_server(self._connect, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        listening.set()
        self.loop.run_forever()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, out = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._pass(reader, out), self._pass(there, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()
