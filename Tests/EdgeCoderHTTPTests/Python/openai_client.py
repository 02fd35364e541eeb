"""Asks the HTTP API what the real OpenAI client asks; prints what it understood as one JSON object.

openai_client.py http://127.0.0.1:PORT
"""

import json
import sys

import openai

url = sys.argv[1]
client = openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=20)
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]


def failure(call):
    try:
        call()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code, error.body["message"]]
    return None


def chat(prompt, **rest):
    return client.chat.completions.create(
        model="edgecoder", messages=[{"role": "user", "content": prompt}], **rest)


found = {"models": [model.id for model in client.models.list()]}

whole = client.chat.completions.create(model="edgecoder", messages=messages, max_tokens=16)
found["chat"] = [whole.choices[0].message.content, whole.choices[0].finish_reason, whole.usage.total_tokens]

stream = client.chat.completions.create(
    model="edgecoder", messages=messages, stream=True, stream_options={"include_usage": True})
chunks = list(stream)
found["streamed"] = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
found["streamed usage"] = chunks[-1].usage.total_tokens

completion = client.completions.create(model="edgecoder", prompt="hello")
found["completion"] = completion.choices[0].text
found["completion streamed"] = "".join(
    c.choices[0].text for c in client.completions.create(model="edgecoder", prompt="hello", stream=True))

found["unknown model"] = failure(lambda: client.chat.completions.create(model="gpt-4o", messages=messages))
found["no phone"] = failure(lambda: chat("no phone"))
found["too late"] = failure(lambda: chat("too late"))
found["phone failed"] = failure(lambda: chat("fail", stream=True))
found["bad request"] = failure(lambda: chat("hello", n=2))
print(json.dumps(found))
