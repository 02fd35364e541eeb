"""Asks about pictures: Ollama's and OpenAI's clients at the HTTP API, and neither at the model server behind it.

pictures.py http://127.0.0.1:PORT http://127.0.0.1:MODEL_SERVER

Prints one JSON object: `pictures` has for each of two what each of the three answered and how many tokens its prompt had.
Where the model server refuses pictures, it has what the clients made of that.
"""

import base64
import json
import random
import struct
import sys
import urllib.error
import urllib.request
import zlib

import ollama
import openai

API, SERVER = sys.argv[1:]
QUESTION = "What is it?"


def picture(seed, side=180):
    """Noise as a PNG of 97 KB: nothing compresses it, and a byte that changes on the way breaks it."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    noise = random.Random(seed)
    rows = b"".join(b"\0" + noise.randbytes(3 * side) for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def parts(png):
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    return [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": QUESTION}]


def by_server(png):
    body = {"messages": [{"role": "user", "content": parts(png)}], "max_tokens": 8, "temperature": 0}
    request = urllib.request.Request(
        f"{SERVER}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        found = json.load(response)
    return [found["choices"][0]["message"]["content"], found["usage"]["prompt_tokens"]]


def by_ollama(png):
    found = ollama.Client(host=API, timeout=120).chat(
        "edgecoder", [{"role": "user", "content": QUESTION, "images": [png]}],
        options={"num_predict": 8, "temperature": 0})
    return [found.message.content, found.prompt_eval_count]


def by_openai(png):
    client = openai.OpenAI(base_url=f"{API}/v1", api_key="unused", max_retries=0, timeout=120)
    found = client.chat.completions.create(
        model="edgecoder", messages=[{"role": "user", "content": parts(png)}], max_tokens=8, temperature=0)
    return [found.choices[0].message.content, found.usage.prompt_tokens]


def answers(png):
    try:
        return {"server": by_server(png), "ollama": by_ollama(png), "openai": by_openai(png)}
    except urllib.error.HTTPError:
        return refusals(png)


def refusals(png):
    found = {}
    try:
        by_ollama(png)
    except ollama.ResponseError as error:
        found["ollama"] = [error.status_code, error.error]
    try:
        by_openai(png)
    except openai.APIStatusError as error:
        found["openai"] = [error.status_code, error.message]
    return found


print(json.dumps({"pictures": [answers(picture(seed)) for seed in (1, 2)]}))
