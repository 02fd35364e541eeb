"""A model server with OpenAI's API that takes no time: each reply is 16 pieces of text, sent as soon as it is asked.

engine.py: serves a free port of 127.0.0.1, prints it, and ends with its input.
"""

import asyncio
import json
import sys

PIECES = 16
HEAD = b"HTTP/1.1 %s\r\nContent-Type: %s\r\n"


def event(choice, **rest):
    found = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "canned", "choices": choice, **rest}
    text = b"data: " + json.dumps(found).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(text), text)


def delta(delta, reason=None):
    return [{"index": 0, "delta": delta, "finish_reason": reason}]


USAGE = {"prompt_tokens": 4, "completion_tokens": PIECES, "total_tokens": 4 + PIECES}
FIRST = HEAD % (b"200 OK", b"text/event-stream") + b"Transfer-Encoding: chunked\r\n\r\n"
FIRST += event(delta({"role": "assistant", "content": None})) + event(delta({"content": "tok "}))
REST = b"".join(event(delta({"content": "tok "})) for _ in range(PIECES - 1))
REST += event(delta({}, "stop")) + event([], usage=USAGE) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def whole(found, status=b"200 OK"):
    body = json.dumps(found).encode()
    return HEAD % (status, b"application/json") + b"Content-Length: %d\r\n\r\n" % len(body) + body


MESSAGE = {"role": "assistant", "content": "tok " * PIECES}
REPLY = whole({
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "canned", "usage": USAGE,
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
})  # fmt: skip
MODELS = whole({"object": "list", "data": [{"id": "canned", "object": "model"}]})
ABSENT = whole({"error": {"message": "not here"}}, b"404 Not Found")


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.unread = transport, b""

    def data_received(self, data):
        self.unread += data
        while (end := self.unread.find(b"\r\n\r\n")) >= 0:
            head = self.unread[:end].lower()
            mark = head.find(b"content-length:")
            length = int(head[mark + 15 :].split(b"\r\n", 1)[0]) if mark >= 0 else 0
            if len(self.unread) < end + 4 + length:
                return
            body, self.unread = self.unread[end + 4 : end + 4 + length], self.unread[end + 4 + length :]
            self.answer(head, body)

    def answer(self, head, body):
        if head.startswith(b"post /v1/chat/completions "):
            if json.loads(body).get("stream"):
                self.transport.write(FIRST)
                self.transport.write(REST)
            else:
                self.transport.write(REPLY)
        else:
            self.transport.write(MODELS if head.startswith(b"get /v1/models ") else ABSENT)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
