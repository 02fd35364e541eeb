"""An independent maker and opener of messages, over PyNaCl.

    messages.py make NODE1 NODE2 RECIPIENT USER ID   public keys in hexadecimal; the text on standard input; prints base64
    messages.py cover NODE1 NODE2                    prints a cover in base64
    messages.py open NODE RECIPIENT                  secret keys in hexadecimal; base64 on standard input; prints the tag,
                                                     the user's key and the text, or "cover"
    messages.py keys SEED PAYLOAD                    the seed of a root key in hexadecimal; prints a signed document
    messages.py post FOLDER URL ID                   a folder of `edgeblue messages keys make`; posts the text on standard
                                                     input, then a cover; prints the two statuses
    messages.py collected FOLDER FILE… ID            opens each message in files of a collector; prints a line for each
"""

import base64
import gzip
import hashlib
import json
import os
import sys
import urllib.request

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


def cover(node1, node2):
    return seal(node1, node2, bytes(4) + os.urandom(593))


def unseal(message, node, recipient):
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


def post(url, message):
    body = '"' + base64.b64encode(message).decode().rstrip("=") + '"'
    request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.status


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


command, arguments = sys.argv[1], sys.argv[2:]
if command == "make":
    print(base64.b64encode(make(*map(bytes.fromhex, arguments[:4]), arguments[4].encode())).decode())
elif command == "cover":
    print(base64.b64encode(cover(*map(bytes.fromhex, arguments))).decode())
elif command == "open":
    print(unseal(base64.b64decode(sys.stdin.read()), *map(bytes.fromhex, arguments)))
elif command == "post":
    folder, url, name = arguments
    nodes = [bytes(PrivateKey(read(folder, f"node-{number}.key")).public_key) for number in (1, 2)]
    recipient = bytes(PrivateKey(read(folder, f"recipient-{name}.key")).public_key)
    for message in (make(*nodes, recipient, os.urandom(32), name.encode()), cover(*nodes)):
        print(post(url, message))
elif command == "collected":
    folder, *files, name = arguments
    keys = read(folder, "node-2.key"), read(folder, f"recipient-{name}.key")
    for file in files:
        data = read(file)
        for start in range(0, len(data), 773):
            print(unseal(data[start : start + 773], *keys))
elif command == "keys":
    payload = arguments[1].encode()
    signature = SigningKey(bytes.fromhex(arguments[0])).sign(payload).signature
    print(json.dumps({name: base64.b64encode(data).decode() for name, data in
                      (("payload", payload), ("signature", signature))}))
