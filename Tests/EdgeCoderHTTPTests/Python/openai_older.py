"""Asks the HTTP API what an older OpenAI client asks; prints what it understood as one JSON object.

openai_older.py http://127.0.0.1:PORT
"""

import json
import sys

import openai


def yes(value):
    return "yes" if value else "no"


client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="unused", max_retries=0, timeout=60)
messages = [{"role": "user", "content": "hallo"}]
whole = client.chat.completions.create(model="edgecoder", messages=messages, max_tokens=8)
chunks = list(client.chat.completions.create(
    model="edgecoder", messages=messages, max_tokens=8, stream=True, stream_options={"include_usage": True}))
print(json.dumps({
    "models": [model.id for model in client.models.list()],
    "whole": [yes(whole.choices[0].message.content), whole.choices[0].finish_reason, whole.usage.completion_tokens],
    "streamed": [yes(any(c.choices and c.choices[0].delta.content for c in chunks)), chunks[-1].usage.completion_tokens],
}))
