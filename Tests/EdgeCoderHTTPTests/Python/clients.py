"""Asks the HTTP API what the clients of others ask; prints what each one understood as one JSON object.

clients.py http://127.0.0.1:PORT HOME

The text is that of a tiny model, so that only its form is known.
"""

import asyncio
import json
import os
import sys
import traceback

URL = sys.argv[1]
os.environ.update(OPENAI_API_KEY="unused", LLM_USER_PATH=sys.argv[2], HOME=sys.argv[2])


def yes(value):
    return "yes" if value else "no"


def langchain_ollama():
    from langchain_ollama import ChatOllama, OllamaLLM

    chat = ChatOllama(model="edgecoder", base_url=URL, num_predict=8, seed=7, temperature=0)
    whole = chat.invoke([("system", "hallo"), ("human", "hallo")])
    streamed = "".join(str(chunk.content) for chunk in chat.stream("hallo"))
    later = asyncio.run(chat.ainvoke("hallo")).content
    prompted = OllamaLLM(model="edgecoder", base_url=URL, num_predict=8).invoke("hallo")
    reason = whole.response_metadata["done_reason"]
    return [yes(whole.content), reason, whole.usage_metadata["output_tokens"], yes(streamed), yes(later), yes(prompted)]


def langchain_openai():
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel
    from typing import Literal

    class Answer(BaseModel):
        good: Literal[True]

    chat = ChatOpenAI(model="edgecoder", base_url=f"{URL}/v1", api_key="unused", max_tokens=8, max_retries=0)
    whole = chat.invoke([("system", "hallo"), ("human", "hallo")])
    streamed = "".join(str(chunk.content) for chunk in chat.stream("hallo"))
    bound = ChatOpenAI(model="edgecoder", base_url=f"{URL}/v1", api_key="unused", max_tokens=200, max_retries=0)
    shaped = bound.with_structured_output(Answer, method="json_schema").invoke("hallo")
    reason = whole.response_metadata["finish_reason"]
    return [yes(whole.content), reason, whole.usage_metadata["output_tokens"], yes(streamed), yes(shaped.good)]


def litellm():
    import litellm

    litellm.telemetry = False
    messages = [{"role": "user", "content": "hallo"}]
    found = []
    for model, base in (("ollama_chat/edgecoder", URL), ("ollama/edgecoder", URL), ("openai/edgecoder", f"{URL}/v1")):
        whole = litellm.completion(model, messages, api_base=base, api_key="unused", max_tokens=8, num_retries=0)
        chunks = litellm.completion(
            model, messages, api_base=base, api_key="unused", max_tokens=8, stream=True, num_retries=0)
        streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        found += [yes(whole.choices[0].message.content), whole.choices[0].finish_reason, yes(streamed)]
    return found


def llm():
    from llm.default_plugins.openai_models import Chat

    model = Chat("edgecoder", model_name="edgecoder", api_base=f"{URL}/v1")
    model.key = "unused"
    whole = model.prompt("hallo", stream=False, max_tokens=8).text()
    streamed = "".join(model.prompt("hallo", stream=True, max_tokens=8))
    return [yes(whole), yes(streamed)]


def instructor():
    import instructor
    import openai
    from pydantic import BaseModel
    from typing import Literal

    class Answer(BaseModel):
        good: Literal[True]

    client = instructor.from_openai(
        openai.OpenAI(base_url=f"{URL}/v1", api_key="unused", max_retries=0), mode=instructor.Mode.JSON_SCHEMA)
    answer = client.chat.completions.create(
        model="edgecoder", messages=[{"role": "user", "content": "hallo"}], response_model=Answer, max_retries=0,
        max_tokens=200)
    return [yes(answer.good)]


found = {}
for use in (langchain_ollama, langchain_openai, litellm, llm, instructor):
    try:
        found[use.__name__] = use()
    except Exception as error:
        traceback.print_exc()
        found[use.__name__] = [f"{type(error).__name__}: {error}"[:500]]
print(json.dumps(found))
