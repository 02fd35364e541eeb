"""Asks the HTTP API what the real Ollama client asks; prints what it understood as one JSON object.

ollama_client.py http://127.0.0.1:PORT [calls]

With `calls` it offers a tool, and prints what was called.
"""

import json
import sys

import ollama

client = ollama.Client(host=sys.argv[1], timeout=20)
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def failure(call):
    try:
        call()
    except ollama.ResponseError as error:
        return [error.status_code, error.error]
    return None


if sys.argv[2:] == ["calls"]:
    calls = client.chat("edgecoder", messages, tools=[weather]).message.tool_calls or []
    print(json.dumps({"calls": [[call.function.name, dict(call.function.arguments)] for call in calls]}))
    sys.exit()

found = {"models": [model.model for model in client.list().models]}
found["show"] = client.show("edgecoder").modelinfo["general.basename"]
found["loaded"] = [model.model for model in client.ps().models]
found["pull"] = client.pull("edgecoder").status

whole = client.chat("edgecoder", messages, options={"seed": 7, "num_predict": 16}, think=True)
found["chat"] = [whole.message.content, whole.message.thinking, whole.done_reason, whole.eval_count]
parts = list(client.chat("edgecoder", messages, stream=True))
found["streamed"] = "".join(part.message.content or "" for part in parts)
found["thought"] = "".join(part.message.thinking or "" for part in parts)
found["end"] = [parts[-1].done, parts[-1].done_reason]
found["generated"] = client.generate("edgecoder", "hello", system="Be brief.", format="json").response
found["generated streamed"] = "".join(
    part.response for part in client.generate("edgecoder", "hello", stream=True))
found["embedded"] = client.embed("edgecoder", ["a", "bcd"]).embeddings
found["older"] = list(client.embeddings("edgecoder", "ab").embedding)

found["unknown model"] = failure(lambda: client.chat("llama3", messages))
found["no image"] = failure(lambda: client.generate("edgecoder", "hello", images=[b"x"]))
client.generate("edgecoder", "What is it?", images=[b"\x89PNG\r\n\x1a\n"])
found["copy"] = failure(lambda: client.copy("edgecoder", "other"))
print(json.dumps(found))
