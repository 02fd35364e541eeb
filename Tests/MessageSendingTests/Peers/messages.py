"""An independent maker and opener of messages, over PyNaCl.

    messages.py make NODE1 NODE2 RECIPIENT USER ID   public keys in hexadecimal; the text on standard input; prints base64
    messages.py cover NODE1 NODE2                    prints a cover in base64
    messages.py open NODE RECIPIENT                  secret keys in hexadecimal; base64 on standard input; prints the tag,
                                                     the user's key and the text, or "cover"
    messages.py keys SEED PAYLOAD                    the seed of a root key in hexadecimal; prints a signed document
"""

import base64
import gzip
import hashlib
import json
import os
import sys

from nacl.public import PrivateKey, PublicKey, SealedBox
from nacl.secret import SecretBox
from nacl.signing import SigningKey

ZEROS = bytes(24)


def seal(node1, node2, contents):
    key = os.urandom(32)
    wrapped = b"".join(SealedBox(PublicKey(node)).encrypt(key) for node in (node1, node2))
    return wrapped + SecretBox(key).encrypt(contents, ZEROS).ciphertext


def make(node1, node2, recipient, user, name):
    stream = gzip.compress(sys.stdin.buffer.read())
    padded = len(stream).to_bytes(2, "big") + stream + os.urandom(510 - len(stream))
    box = SealedBox(PublicKey(recipient)).encrypt(user + b"\0" + padded)
    return seal(node1, node2, hashlib.sha256(name).digest()[:4] + box)


def unseal(node, recipient):
    message = base64.b64decode(sys.stdin.read())
    assert len(message) == 773
    for wrapped in (message[:80], message[80:160]):
        try:
            key = SealedBox(PrivateKey(node)).decrypt(wrapped)
            break
        except Exception:
            continue
    contents = SecretBox(key).decrypt(message[160:], ZEROS)
    if contents[:4] == bytes(4):
        return "cover"
    letter = SealedBox(PrivateKey(recipient)).decrypt(contents[4:])
    assert letter[32] == 0 and len(letter) == 545
    length = int.from_bytes(letter[33:35], "big")
    text = gzip.decompress(letter[35 : 35 + length]).decode()
    return f"{contents[:4].hex()} {letter[:32].hex()} {text}"


command, arguments = sys.argv[1], sys.argv[2:]
if command == "make":
    print(base64.b64encode(make(*map(bytes.fromhex, arguments[:4]), arguments[4].encode())).decode())
elif command == "cover":
    print(base64.b64encode(seal(*map(bytes.fromhex, arguments), bytes(4) + os.urandom(593))).decode())
elif command == "open":
    print(unseal(*map(bytes.fromhex, arguments)))
elif command == "keys":
    payload = arguments[1].encode()
    signature = SigningKey(bytes.fromhex(arguments[0])).sign(payload).signature
    print(json.dumps({name: base64.b64encode(data).decode() for name, data in
                      (("payload", payload), ("signature", signature))}))
