// Asks the HTTP API what OpenAI's own JavaScript client asks; prints what it understood as one JSON object.
//
// node openai_client.cjs FOLDER http://127.0.0.1:PORT
//
// FOLDER has the client in its node_modules.

const { createRequire } = require("node:module");

const [folder, url] = process.argv.slice(2);
const { OpenAI } = createRequire(`${folder}/package.json`)("openai");

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "unused", maxRetries: 0, timeout: 20000 });
const model = "edgecoder";
const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "hello" }];

async function failure(call) {
  try {
    await call();
  } catch (error) {
    return [error.constructor.name, error.status, error.code];
  }
  return null;
}

async function main() {
  const found = {};
  found.models = (await client.models.list()).data.map((one) => one.id);

  const whole = await client.chat.completions.create({ model, messages, max_tokens: 16 });
  found.chat = [whole.choices[0].message.content, whole.choices[0].finish_reason, whole.usage.total_tokens];
  found.streamed = "";
  const stream = await client.chat.completions.create({
    model, messages, stream: true, stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    found.streamed += chunk.choices[0]?.delta?.content ?? "";
    found.usage = chunk.usage?.total_tokens ?? found.usage;
  }

  const response = await client.responses.create({ model, input: "hello", max_output_tokens: 16 });
  found.response = [response.status, response.output_text];
  found.kinds = [];
  for await (const event of await client.responses.create({ model, input: "hello", stream: true })) {
    found.kinds.push(event.type);
  }
  found.embedded = (await client.embeddings.create({ model, input: ["a", "bcd"] })).data.map((one) => one.embedding);

  found["unknown model"] = await failure(() => client.chat.completions.create({ model: "gpt-4o", messages }));
  found["bad request"] = await failure(() => client.chat.completions.create({ model, messages, n: 2 }));
  console.log(JSON.stringify(found));
}

main();
