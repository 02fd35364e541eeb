"""Asks the HTTP API for calls of tools with the real OpenAI client; prints what it understood as one JSON object.

openai_details.py http://127.0.0.1:PORT
"""

import json
import sys

import openai

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="unused", max_retries=0, timeout=20)
messages = [{"role": "user", "content": "Weather?"}]
tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]
found = {}

raw = client.chat.completions.with_raw_response.create(
    model="edgecoder", messages=messages, tools=tools, temperature=0, seed=7, logit_bias={"1": 2})
found["ignored"] = raw.headers.get("edgecoder-ignored")
choice = raw.parse().choices[0]
found["call"] = [
    choice.finish_reason, choice.message.content,
    [[c.id, c.function.name, json.loads(c.function.arguments)] for c in choice.message.tool_calls]]

calls = {}
for chunk in client.chat.completions.create(model="edgecoder", messages=messages, tools=tools, stream=True):
    for part in chunk.choices[0].delta.tool_calls or []:
        call = calls.setdefault(part.index, ["", "", ""])
        call[0] += part.id or ""
        call[1] += part.function.name or ""
        call[2] += part.function.arguments or ""
    reason = chunk.choices[0].finish_reason
found["streamed"] = [reason, calls]

# The helper of the client joins the chunks itself, and knows what it must find.
with client.chat.completions.stream(model="edgecoder", messages=messages, tools=tools) as stream:
    final = stream.get_final_completion()
found["joined"] = final.choices[0].message.tool_calls[0].function.arguments
print(json.dumps(found))
