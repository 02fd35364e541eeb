"""Asks the HTTP API by /v1/responses with the real OpenAI client; prints what it understood as one JSON object.

openai_responses.py http://127.0.0.1:PORT
"""

import json
import sys

import openai

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="unused", max_retries=0, timeout=20)
tools = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}, "strict": False}]
asked = {"model": "edgecoder", "instructions": "Be brief.", "input": "Weather?", "tools": tools}
found = {}

whole = client.responses.create(**asked, max_output_tokens=16)
found["whole"] = [whole.status, whole.output_text, whole.usage.total_tokens, whole.incomplete_details.reason]
calls = [item for item in whole.output if item.type == "function_call"]
found["calls"] = [[c.call_id, c.name, json.loads(c.arguments)] for c in calls]

# The helper checks the order of the events and joins them.
kinds = []
with client.responses.stream(**asked) as stream:
    for event in stream:
        kinds.append(event.type)
    final = stream.get_final_response()
found["kinds"] = kinds
found["final"] = [final.output_text, [item.type for item in final.output]]

# The answer of a tool goes back with all that was said.
history = [{"role": "user", "content": "Weather?"}]
history += [item.model_dump(exclude_none=True) for item in whole.output]
history.append({"type": "function_call_output", "call_id": calls[0].call_id, "output": "rain"})
found["second"] = client.responses.create(model="edgecoder", input=history).output_text

try:
    client.responses.create(model="edgecoder", input="hi", previous_response_id="resp_1")
except openai.BadRequestError as error:
    found["refused"] = error.body["message"]
print(json.dumps(found))
