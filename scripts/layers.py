"""The layers of the design: check-arrows compares the imports with them, and draw-architecture draws them.

A target may import what lies in a layer below its own. Beside it, it may only import what HALVES lists for it. A test
kit NAMETesting needs no entry: it lies in the layer of NAME and may import NAME.
"""

import re

# Lowest first, each with a title. A new target is added to its layer here; a target in no layer is an error.
LAYERS = [
    ("C maps", {"CDBus", "CBluetooth", "CFLAC", "CLinux", "CNetlink", "COpus", "COpusEnc"} | {"CSodium", "CSoxr", "CZlib"}),
    ("Floor: errors and values", {"ErrorReporting", "JSONValues", "Places"}),
    ("Floor: streams and synchronization", {"Streams"}),
    ("Floor: time", {"Timing"}),
    ("Floor: files", {"DurableFiles"}),
    ("Floor: databases", {"SQLiteFiles"}),
    ("Test kits of the floor", {"DeterministicTesting", "SystemTesting"}),
    ("Recordings", {"Btsnoop"}),
    ("Bus", {"DBus"}),
    ("HTTP", {"IncomingHTTP", "OutgoingHTTP"}),
    ("Platform kits", {"BlueZ", "BlueZProfiles", "CoreBluetooth", "NetworkPath", "NetworkPathNetworkManager", "SystemState"}
        | {"BackgroundTasks"},
    ),
    (
        "Features",
        {"EdgeCoder", "EdgeCoderHTTP", "Agent", "AgentHTTP", "AudioIngest", "AudioWearables", "Uploads", "UploadsHTTP"}
        | {"SpeedTest", "SpeedTestNIO", "Coverage", "CoverageHTTP", "MessageSending"}
        | {"MessageSendingHTTP"},
    ),
    ("Programs", {"edgeblue", "agent-simulation", "coverage-process", "message-queue-process", "message-sender-process"}),
]

# Features and kits in several targets, so that the half without SwiftNIO, or without a bus, builds in seconds: from a
# half to the ones it may import.
HALVES = {
    "CoreBluetooth": {"BlueZ"},
    "NetworkPathNetworkManager": {"NetworkPath"},
    "EdgeCoderHTTP": {"EdgeCoder"},
    "AgentHTTP": {"Agent"},
    "UploadsHTTP": {"Uploads"},
    "CoverageHTTP": {"Coverage"},
    "MessageSendingHTTP": {"MessageSending"},
    "AudioWearables": {"AudioIngest"},
    "SpeedTestNIO": {"SpeedTest"},
}

# C maps with few owners: nobody else may see the types behind them.
OWNED = {
    "CDBus": {"DBus"},
    "CFLAC": {"AudioIngest"},
    "CLinux": {"DurableFiles", "MessageSending", "Streams", "SystemState", "Timing"},
    "CNetlink": {"NetworkPath"},
    "COpus": {"AudioIngest", "AudioIngestTesting"},
    "COpusEnc": {"AudioIngest"},
    "CSodium": {"MessageSending"},
    "CSoxr": {"AudioIngest"},
    "CZlib": {"EdgeCoder", "MessageSending"},
}

# Modules of others that only some targets may import.
HTTP = {"AgentHTTP", "EdgeCoderHTTP", "IncomingHTTP", "MessageSendingHTTP", "OutgoingHTTP", "SpeedTestNIO", "UploadsHTTP"}
HTTP |= {"CoverageHTTP", "edgeblue"}
RESTRICTED = [
    (re.compile(r"^_?NIO|^Hummingbird|^AsyncHTTPClient$|^HTTPTypes"), HTTP, "SwiftNIO"),
    (re.compile(r"^Crypto$"), {"AgentHTTP", "AudioIngest", "SpeedTest", "Uploads"}, "cryptography"),
    (re.compile(r"^GRDB$"), {"Coverage", "SQLiteFiles", "Uploads"}, "SQLite"),
    (re.compile(r"^ArgumentParser$"), {"edgeblue"}, "the command line"),
]

# Targets that build on a machine without libdbus: no path of dependencies leads from them to DBus.
WITHOUT_BUS = {"AudioIngest", "BlueZProfiles", "Btsnoop", "Coverage", "NetworkPath", "SpeedTest", "SQLiteFiles", "Uploads"}

# Programs that are a test.
TEST_PROGRAMS = {"agent-simulation", "coverage-process", "message-queue-process", "message-sender-process"}

# What a target without a documentation catalog holds.
HOLDS = {
    "CDBus": "The headers of libdbus-1.",
    "CFLAC": "The headers of libFLAC.",
    "CLinux": "The calls of Linux that the Glibc module leaves out: events and timers as files, spawning, core dumps, renaming without replacing.",
    "CNetlink": "The kernel's headers of rtnetlink.",
    "COpus": "The headers of libopus.",
    "COpusEnc": "The headers of libopusenc.",
    "CSodium": "The headers of libsodium.",
    "CSoxr": "The headers of libsoxr.",
    "CZlib": "The headers of zlib.",
    "SQLiteFiles": "Files of SQLite: opening, durable changes, copies for looking, and the words of their errors.",
    "edgeblue": "The command: a folder for each subcommand, and the only place that composes the libraries.",
    "agent-simulation": "Days of the agent's life in seconds, with faults, on one thread and a simulated clock.",
    "coverage-process": "A process that measures coverage, stores and sends it, and that a test kills or a benchmark times.",
    "message-queue-process": "A process that writes to a queue of messages or sends from it, and that a test kills.",
    "message-sender-process": "A process that sends messages over HTTP, and that a test traces and kills.",
}


def layer(target):
    """The number of a target's layer, from below, or None."""
    for level, (_, names) in enumerate(LAYERS):
        if target in names or is_test_kit(target) and target.removesuffix("Testing") in names:
            return level
    return None


def is_test_kit(target):
    return target.endswith("Testing")


def may_import_beside(target, module):
    """Whether a target may import one of its own layer."""
    if module in HALVES.get(target, ()):
        return True
    tested = target.removesuffix("Testing")
    return is_test_kit(target) and (module == tested or tested in HALVES.get(module, ()))


def dependencies(target):
    """The names that a target of `swift package dump-package` depends on: targets, and products of packages."""
    return {
        value[0] for kind in target["dependencies"] for value in kind.values() if isinstance(value, list) and value
    }


def folder(target):
    """Where the sources of a target of `swift package dump-package` are."""
    return target.get("path") or ("Tests/" if target["type"] == "test" else "Sources/") + target["name"]
