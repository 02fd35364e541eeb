import Agent
import ArgumentParser
import BlueZ
import EdgeCoder
import Glibc
import JSONValues
import Testing
import Uploads

@testable import edgeblue

@Suite("The command line") struct CommandLineTests {
  @Test(
    "The examples of the help can be parsed",
    arguments: [
      ["phone", "--engine", "echo", "--adapter", "hci0", "--name", "Workshop"],
      ["phone", "--engine", "ollama", "--engine-url", "http://127.0.0.1:1", "--model", "m", "--log-level", "debug"],
      ["central", "--adapter", "hci1", "--port", "0", "--max-phones", "2", "--json"],
      ["central", "--origin", "https://chat.example.org", "--origin", "http://10.0.0.1:3000", "--context", "8192"],
      ["phone", "--max-tokens", "2048", "--parallel", "4"],
      ["ask", "--direct", "--adapter", "hci1", "Why", "is", "the", "sky", "blue?"],
      ["ask", "--central-url", "http://127.0.0.1:1", "--max-tokens", "5", "-"], ["scan", "--seconds", "3", "--all"],
      ["scan", "--service", "180d", "--service", "0x1816"], ["inspect", "00:aa:01:00:00:42", "--no-values"],
      ["doctor", "--engine", "openai", "--json"],
      ["phone", "--access", "authenticated", "--allow", "00:AA:01:00:00:42", "00:aa:01:00:00:43", "--json"],
      ["path"], ["path", "--watch", "--settle-down", "0", "--settle-up", "2000", "--json"],
      ["path", "--probe", "http://192.0.2.1/check"], ["power"], ["power", "--watch", "--low-power", "--json"],
      ["agent"], ["agent", "--engine", "ollama", "--state", "/tmp/agent", "--bus", "session", "--access", "open"],
      ["status", "--watch", "--bus", "unix:path=/run/bus"], ["mode", "on"], ["mode", "local", "--json"],
      ["mode", "off", "--only-while-charging", "yes"], ["mode", "--only-while-charging", "no"],
      ["events", "--limit", "3"], ["record"], ["record", "--out", "recordings", "--keep", "speech"],
      ["record", "--wearable", "FA:0B:00:00:00:01", "--wearable", "FA:0B:00:00:00:02", "--json"],
      ["record", "--upload", "recordings", "--account", "ada", "--prefix", "fleet/desk-", "--format", "flac"],
      ["record", "--service", "180a", "--characteristic", "2a29", "--codec", "pcm8k", "--number-at", "0"],
      ["agent", "--uploads", "--endpoint", "http://127.0.0.1:8333", "--account", "ada", "--metrics-port", "0"],
      ["uploads", "run", "--metrics-port", "9100", "--concurrency", "8"], ["upload", "f", "--bucket", "b", "--later"],
      ["segments"], ["segments", "list", "--json"], ["segments", "show", "42"], ["segments", "play-info", "42"],
      ["segments", "plot", "42", "-o", "waveform.svg"], ["segments", "repair", "--in", "recordings"],
      ["messages"], ["messages", "status", "--unlock", "--json"], ["messages", "write", "--to", "desk"],
      [
        "messages", "setup", "--server", "https://host", "--keys", "keys.json", "--root", "KEY", "--passphrase-fd", "3",
      ],
      ["messages", "run", "--once"], ["messages", "collect", "--to", "collected", "--bucket", "b"],
      ["messages", "open", "collected", "--keys", "keys"], ["messages", "keys", "make", "keys", "--recipient", "desk"],
      ["pair"], ["pair", "--for", "120s"], ["pair", "open", "--for", "2m", "--yes", "--adapter", "hci0"],
      ["pair", "with", "00:AA:01:00:00:42"], ["pair", "list", "--json"], ["pair", "remove", "00:AA:01:00:00:42"],
      ["pair", "adopt", "00:AA:01:00:00:42", "--as", "central"], ["central", "--access", "open", "--state", "/tmp/s"],
      ["ask", "--allow", "00:AA:01:00:00:42", "--insecure", "--", "Hello"],
      ["speedtest", "--server", "192.0.2.1"], ["speedtest", "serve", "--open"],
      ["speedtest", "--server", "speed.example.org:443", "--tls", "--http", "--key-file", "speed.key", "--json"],
      ["speedtest", "--server", "h", "--threads", "120", "--seconds", "30", "--no-upload", "--token", "combined"],
      ["speedtest", "serve", "--key-file", "k", "--port", "443", "--certificate", "c", "--certificate-key", "k"],
      ["speedtest", "serve", "--open", "--ping-port", "0", "--metrics-port", "0"],
      ["loop", "start", "--server", "h", "--geoclue", "--later"],
      ["loop", "start", "--control", "https://control.example.org", "--accept-terms", "--qos", "--unattended"],
      ["agent", "--loop"], ["agent", "--coordinator", "http://[::1]:4301", "--test-coordinator"],
      ["coverage"], ["coverage", "run", "--control", "https://c", "--gpsd", "127.0.0.1", "--interface", "wwan0"],
      ["coverage", "export", "--format", "gpx", "--session", "3"], ["coverage", "send"], ["coverage", "drop", "1"],
      ["coverage", "map", "walk.html", "--session", "3"], ["coverage", "map", "walk.png", "--received", "--json"],
      ["coverage", "serve", "--key-file", "k", "--ping-host", "ping.example.org", "--window", "60"],
      ["speedtest", "history", "--csv", "--last", "10"], ["speedtest", "show"],
      ["speedtest", "--control", "https://control.example.org", "--accept-terms", "--qos", "--ca", "c"],
      ["speedtest", "submit"],
      ["speedtest", "plot", "17", "test.svg"],
      ["loop"], ["loop", "start"], ["loop", "start", "--server", "192.0.2.1", "--tests", "20", "--minutes", "30"],
      ["loop", "start", "--server", "h", "--gpsd", "127.0.0.1", "--metres", "500", "--night", "22:00-07:00"],
      ["loop", "status", "--watch"], ["loop", "history", "--csv"], ["loop", "plot", "loop.svg"], ["loop", "stop"],
    ])
  func whatTheHelpPromises(arguments: [String]) throws {
    _ = try EdgeBlueCommand.parseAsRoot(arguments)
  }

  @Test(
    "A wrong command line has exit status 64",
    arguments: [
      ["phone", "--engine", "gpt"], ["phone", "--model", "m"], ["central", "--port", "65536"],
      ["central", "--origin", "chat.example.org"], ["central", "--origin", "https://chat.example.org/"],
      ["central", "--origin", "*"], ["central", "--context", "1"], ["phone", "--max-tokens", "0"],
      ["phone", "--parallel", "17"],
      ["central", "--max-phones", "0"], ["ask"], ["ask", "--direct", "--central-url", "http://x", "hi"],
      ["ask", "--wait", "0", "hi"], ["ask", "--timeout", "0", "hi"], ["phone", "--pace-ms", "-1"],
      ["phone", "--max-output", "9"], ["ask", "--max-tokens", "0", "hi"], ["scan", "--seconds", "0"],
      ["scan", "--service", "heart"], ["scan", "--all", "--service", "180d"], ["inspect"], ["inspect", "Pulse"],
      ["inspect", "--timeout", "0", "00:AA:01:00:00:42"],
      ["path", "--settle-up", "-1"], ["path", "--probe", "192.0.2.1"], ["path", "--probe", "ftp://192.0.2.1"],
      ["path", "--probe", "http://192.0.2.1:65536"],
      ["doctor", "--log-level", "loud"], ["phone", "--access", "secret"], ["phone", "--allow", "me"],
      ["phone", "--access", "open", "--allow", "00:AA:01:00:00:42"], ["pair", "--for", "0s"], ["pair", "--for", "61m"],
      ["record", "--wearable", "me"],
      ["record", "--wearable", "FA:0B:00:00:00:01", "--wearable", "FA:0B:00:00:00:01"],
      ["record", "--maximum", "1"], ["record", "--upload", ""], ["record", "--upload", "No Bucket"],
      ["record", "--upload", "bucket", "--account", ".."], ["record", "--upload", "bucket", "--account", ""],
      ["record", "--upload", "bucket", "--prefix", "../"], ["record", "--upload", "bucket", "--prefix", "a/./b/"],
      ["record", "--keep", "silence"], ["record", "--quota", "9223372036854775807"], ["record", "--header", "3"],
      ["segments", "plot", "1", "waveform.svg"], ["segments", "lose"],
      ["speedtest", "--control", "https://h", "--server", "h"], ["speedtest", "--control", "https://h", "--no-upload"],
      ["speedtest", "--control", "https://h", "--no-store"], ["speedtest", "--server", "h", "--accept-terms"],
      ["speedtest", "--server", "h", "--qos"],
      ["speedtest"], ["speedtest", "--server", "h:x"], ["speedtest", "--server", "h", "--threads", "121"],
      ["speedtest", "--server", "h", "--seconds", "0"], ["speedtest", "--server", "h", "--insecure"],
      ["speedtest", "--server", "h", "--key", "secret"], ["speedtest", "serve"],
      ["speedtest", "serve", "--open", "--port", "65536"], ["speedtest", "serve", "--open", "--ping-port", "-1"],
      ["speedtest", "serve", "--open", "--key-file", "k"], ["speedtest", "serve", "--open", "--certificate", "c"],
      ["speedtest", "history", "--csv", "--json"], ["speedtest", "plot", "1"], ["loop", "start", "--metres", "100"],
      ["loop", "start", "--server", "h", "--minutes", "4"], ["loop", "start", "--server", "h", "--qos"],
      ["loop", "start", "--server", "h", "--control", "https://c"], ["loop", "start", "--control", "c", "--no-upload"],
      ["loop", "history", "--csv", "--json"], ["loop", "plot"],
      ["coverage", "run", "--control", "https://c"], ["coverage", "run", "--place", "48,16"], ["coverage", "drop"],
      ["coverage", "run", "--control", "https://c", "--place", "48,16", "--minutes", "241"],
      ["coverage", "export", "--format", "kml"], ["coverage", "export", "--json"], ["coverage", "map"],
      ["coverage", "serve", "--key-file", "k"], ["coverage", "serve", "--ping-host", "h"],
      ["coverage", "serve", "--key-file", "k", "--ping-host", "h", "--host", "0.0.0.0"],
      ["coverage", "serve", "--key-file", "k", "--ping-host", "h", "--ping-port", "0"],
      ["mode"], ["mode", "turbo"], ["mode", "on", "--only-while-charging", "sometimes"], ["events", "--limit", "0"],
      ["uploads", "run", "--metrics-port", "65536"], ["upload", "f"],
      ["upload", "a", "b", "--bucket", "b", "--key", "k"],
      ["agent", "--test-coordinator"],
      ["agent", "--coordinator", "https://127.0.0.1.example", "--test-coordinator"],
      ["agent", "--network-settle", "3601"], ["agent", "--return-to-on", "always"],
      ["status", "--bus", "bus"], ["agent", "--pace-ms", "-1"], ["messages", "write"],
      ["messages", "keys", "make", "k"],
      ["messages", "collect", "--to", "c", "--host", "0.0.0.0"], ["messages", "collect", "--to", "c", "--rate", "0"],
      ["pair", "--for", "9223372036854775807m"], ["pair", "--for", "long"], ["pair", "remove"], ["pair", "with", "it"],
    ])
  func mistakesEndWithStatus64(arguments: [String]) {
    let error = #expect(throws: (any Error).self) { try EdgeBlueCommand.parseAsRoot(arguments) }
    if let error { #expect(EdgeBlueCommand.exitCode(for: error).rawValue == 64) }
  }

  @Test("Errors have their exit statuses and hints") func errorsHaveTheirStatus() {
    #expect(Failure(InferenceError(.noPhoneReady, "x")).status == .unavailable)
    #expect(Failure(InferenceError(.timedOut, "x")).status == .tryAgain)
    #expect(Failure(InferenceError(.requestTooLarge, "x")).status == .badInput)
    #expect(Failure(BlueZError(.notPermitted, "x")).status == .notPermitted)
    #expect(Failure(BlueZError(.noAdapter, "x", hint: "h")).hint == "h; `edgeblue doctor` checks what is missing")
    #expect(Failure(UploadsError(.untrusted, "x", hint: "h")).hint == "h; --ca names a certificate to trust")
    #expect(Failure(UploadsError(.untrusted, "x")).status == .unavailable)
    #expect(Failure(UploadsError(.unreachable, "connect to s: timed out")).hint == nil)
    #expect(Failure(AgentError(.storage, "opening events.jsonl: x", hint: "h")).hint == "h")
    #expect(Failure(AgentError(.storage, "x")).hint == nil)
    #expect(Failure(EngineError(.unreachable, "x")).status == .unavailable)
    #expect(Failure(AgentError(.notRunning, "x")).status == .unavailable)
    #expect(Failure(AgentError(.notPermitted, "x")).status == .notPermitted)
    #expect(Failure(CancellationError()).status == .interrupted)
  }

  @Test("A refusal of a phone is printed with its reason, without brackets")
  func aRefusalIsPrintedWithItsReason() {
    #expect(Failure(.init(.noModel, "no model"), by: "").message == "the phone could not answer: no model")
    #expect(Failure(.init(.failed, ""), by: "Mia").message == "Mia could not answer: no reason given")
  }

  @Test("An engine's error names the engine", arguments: [EngineError.Code.unreachable, .timedOut, .badReply])
  func anEnginesErrorNamesTheEngine(code: EngineError.Code) {
    #expect(EngineError(code, "x").description.hasPrefix("engine "))
  }

  @Test("Names from the air cannot control the terminal") func namesFromTheAirCannotDriveTheTerminal() {
    #expect("a\u{1b}[2Jb\nc\u{202e}d".printable == "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d")
    #expect("Grüße 🐟 世界".printable == "Grüße 🐟 世界")
  }

  /// As `edgeblue doctor | head -1` does; Foundation's own way of writing traps there.
  @Test("Writing to a closed pipe returns false, and does not end the program") func aReaderThatHasGone() {
    Output.ignoreBrokenPipes()
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    #expect(Output.write("before\n", to: ends[1]))
    close(ends[0])
    #expect(!Output.write("after\n", to: ends[1]))
    close(ends[1])
  }

  @Test("JSON is printed on one line, with sorted keys") func jsonOnOneLine() {
    let value = JSONValue.object(["b": .array([1, true, .null]), "a": "x/\n\"y\""])
    #expect(value.line == #"{"a":"x/\n\"y\"","b":[1,true,null]}"#)
  }
}
