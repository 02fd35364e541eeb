"""A real llama.cpp server with a tiny model of its own making, for the engine tests.

llama_server.py MODEL.gguf CONTEXT [EYES.gguf]: writes the model, serves it on a free loopback port, prints the address and
ends with stdin. The model has random weights from a fixed seed: it talks nonsense, always the same. With EYES.gguf, which
may be empty for none, it also writes an encoder of pictures (a vision transformer of LLaVA's kind) and sees: other pictures, other nonsense.
"""

import sys

import gguf
import numpy as np
import xllamacpp

VOCABULARY, WIDTH, FEED_FORWARD, LAYERS, HEADS = 454, 64, 128, 2, 4
# A picture is scaled to 56 × 56 pixels and read in squares of 14: 16 tokens.
SEEN_SIDE, SQUARE = 56, 14


def vocabulary():
    """Three control tokens, the 256 bytes every SentencePiece vocabulary has, and syllables."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    words = ["\u2581"] + letters + ["\u2581" + letter for letter in letters]
    words += [a + b for a in "bdfgklmnprst" for b in "aeiou"] + list("äöüßéñ世界")
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.BYTE] * 256
    words += [f"w{number}" for number in range(VOCABULARY - len(tokens) - len(words))]
    return tokens + words, kinds + [gguf.TokenType.NORMAL] * len(words)


def write_model(path, context):
    random = np.random.default_rng(7)
    model = gguf.GGUFWriter(path, "llama")
    model.add_name("tiny")
    model.add_context_length(context)
    model.add_embedding_length(WIDTH)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(FEED_FORWARD)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(VOCABULARY)

    tokens, kinds = vocabulary()
    model.add_tokenizer_model("llama")
    model.add_token_list([token.encode() for token in tokens])
    model.add_token_scores([-float(index) for index in range(len(tokens))])
    model.add_token_types(kinds)
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)
    model.add_unk_token_id(0)
    model.add_chat_template("{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}")

    def random_tensor(name, *shape):
        model.add_tensor(name, (random.standard_normal(shape) * 0.1).astype(np.float32))

    random_tensor("token_embd.weight", VOCABULARY, WIDTH)
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            random_tensor(f"blk.{layer}.{name}.weight", WIDTH, WIDTH)
        random_tensor(f"blk.{layer}.ffn_gate.weight", FEED_FORWARD, WIDTH)
        random_tensor(f"blk.{layer}.ffn_up.weight", FEED_FORWARD, WIDTH)
        random_tensor(f"blk.{layer}.ffn_down.weight", WIDTH, FEED_FORWARD)
        for name in ("attn_norm", "ffn_norm"):
            model.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    model.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    output = random.standard_normal((VOCABULARY, WIDTH)).astype(np.float32)
    # Control and byte tokens never win, so the text is valid UTF-8 and ends only at the limit.
    output[:259] = 0
    model.add_tensor("output.weight", output)

    finish(model)


def write_eyes(path):
    random = np.random.default_rng(9)
    eyes = gguf.GGUFWriter(path, "clip")
    eyes.add_bool("clip.has_vision_encoder", True)
    eyes.add_string("clip.projector_type", "mlp")
    eyes.add_bool("clip.use_gelu", True)
    eyes.add_uint32("clip.vision.image_size", SEEN_SIDE)
    eyes.add_uint32("clip.vision.patch_size", SQUARE)
    eyes.add_uint32("clip.vision.embedding_length", WIDTH)
    eyes.add_uint32("clip.vision.feed_forward_length", FEED_FORWARD)
    eyes.add_uint32("clip.vision.projection_dim", WIDTH)
    eyes.add_uint32("clip.vision.block_count", LAYERS)
    eyes.add_uint32("clip.vision.attention.head_count", HEADS)
    eyes.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    eyes.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    eyes.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])

    def random_tensor(name, *shape):
        eyes.add_tensor(name, (random.standard_normal(shape) * 0.3).astype(np.float32))

    def linear(name, outputs, inputs):
        random_tensor(f"{name}.weight", outputs, inputs)
        random_tensor(f"{name}.bias", outputs)

    def norm(name):
        eyes.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
        eyes.add_tensor(f"{name}.bias", np.zeros(WIDTH, np.float32))

    random_tensor("v.class_embd", WIDTH)
    random_tensor("v.patch_embd.weight", WIDTH, 3, SQUARE, SQUARE)
    random_tensor("v.position_embd.weight", (SEEN_SIDE // SQUARE) ** 2 + 1, WIDTH)
    norm("v.pre_ln")
    norm("v.post_ln")
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            linear(f"v.blk.{layer}.{name}", WIDTH, WIDTH)
        norm(f"v.blk.{layer}.ln1")
        norm(f"v.blk.{layer}.ln2")
        linear(f"v.blk.{layer}.ffn_up", FEED_FORWARD, WIDTH)
        linear(f"v.blk.{layer}.ffn_down", WIDTH, FEED_FORWARD)
    linear("mm.0", WIDTH, WIDTH)
    linear("mm.2", WIDTH, WIDTH)
    finish(eyes)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(path, context, eyes=""):
    write_model(path, context)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    if eyes:
        write_eyes(eyes)
        parameters.mmproj.path = eyes
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.fit_params = False
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
