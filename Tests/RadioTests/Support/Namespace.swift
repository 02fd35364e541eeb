import Testing

/// Runs `body` with a network namespace that has a loopback and a way out, `up0`; its commands are
/// `ip -n NAME …`. HCI sockets are of the first namespace only, but a bus with a name in the files is everywhere.
func withNamespace(_ name: String, _ body: () async throws -> Void) async throws {
  try await shell(
    """
    ip netns add \(name) && ip -n \(name) link set lo up &&
    ip -n \(name) link add up0 type veth peer name far0 && ip -n \(name) link set far0 up &&
    ip -n \(name) link set up0 up && ip -n \(name) addr add 192.0.2.2/24 dev up0 &&
    ip -n \(name) route add default via 192.0.2.1
    """)
  do {
    try await body()
  } catch {
    try await shell("ip netns del \(name)")
    throw error
  }
  try await shell("ip netns del \(name)")
}

/// Runs commands, and needs them to succeed.
func shell(_ commands: String) async throws {
  let status = try await Subprocess.run("/bin/sh", ["-c", commands])
  try #require(status == 0, "\(commands)")
}
