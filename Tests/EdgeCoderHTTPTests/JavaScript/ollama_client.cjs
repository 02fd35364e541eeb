// Asks the HTTP API what Ollama's own JavaScript client asks; prints what it understood as one JSON object.
//
// node ollama_client.cjs FOLDER http://127.0.0.1:PORT
//
// FOLDER has the client in its node_modules.

const { createRequire } = require("node:module");

const [folder, host] = process.argv.slice(2);
const { Ollama } = createRequire(`${folder}/package.json`)("ollama");

const client = new Ollama({ host });
const model = "edgecoder";
const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "hello" }];

async function failure(call) {
  try {
    await call();
  } catch (error) {
    return [error.status_code, error.message];
  }
  return null;
}

async function main() {
  const found = {};
  found.models = (await client.list()).models.map((one) => one.model);
  found.show = (await client.show({ model })).model_info["general.basename"];
  found.loaded = (await client.ps()).models.map((one) => one.model);
  found.pull = (await client.pull({ model })).status;

  const whole = await client.chat({ model, messages, think: true, options: { seed: 7, num_predict: 16 } });
  found.chat = [whole.message.content, whole.message.thinking, whole.done_reason, whole.eval_count];
  found.streamed = ["", ""];
  for await (const part of await client.chat({ model, messages, think: true, stream: true })) {
    found.streamed[0] += part.message.content ?? "";
    found.streamed[1] += part.message.thinking ?? "";
    found.end = part.done_reason;
  }
  found.generated = (await client.generate({ model, prompt: "hello", system: "Be brief.", format: "json" })).response;
  found.embedded = (await client.embed({ model, input: ["a", "bcd"] })).embeddings;

  const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  found.seen = (await client.generate({ model, prompt: "What is it?", images: [png] })).response;
  found["unknown model"] = await failure(() => client.chat({ model: "llama3", messages }));
  found.copy = await failure(() => client.copy({ source: model, destination: "other" }));

  // A client that goes away in the middle of a stream, and asks again.
  try {
    for await (const part of await client.chat({ model, messages, stream: true })) {
      if (part.message.content) client.abort();
    }
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
  found.after = (await client.chat({ model, messages })).message.content;
  console.log(JSON.stringify(found));
}

main();
