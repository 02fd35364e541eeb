import FoundationEssentials
import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import OutgoingHTTP

@Suite("The connections of a client that uploads") struct UploadSocketTests {
  /// One loop, so that what follows from a close is done before the next question.
  private let group = MultiThreadedEventLoopGroup.singleton.next()

  private func option(_ name: CInt, of channel: any Channel) async throws -> UInt64 {
    let connection = try #require(channel as? any SocketOptionProvider)
    return try await connection.unsafeGetSocketOption(level: .tcp, name: .init(rawValue: name)).get()
  }

  private func expect(_ control: UploadSocket.Control, of channels: [any Channel]) async throws {
    for channel in channels { #expect(try await option(TCP_CONGESTION, of: channel) == control.bytes) }
  }

  /// Lets a test use connections to a listener of its own.
  private func withConnections(_ count: Int, _ body: ([any Channel]) async throws -> Void) async throws {
    let server = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    var channels: [any Channel] = []
    for _ in 0..<count {
      channels.append(try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port).get())
    }
    try await body(channels)
    for channel in channels where channel.isActive { try await channel.close() }
    try await server.close()
  }

  @Test("The kernel holds little back") func littleWaits() async throws {
    try await withConnections(1) { channels in
      try await UploadSocket.prepare(channels[0], limit: .seconds(60)).get()
      let limit = try await option(TCP_NOTSENT_LOWAT, of: channels[0])
      #expect(UInt32(truncatingIfNeeded: limit) == UInt32(UploadSocket.unsentLimit))
    }
  }

  @Test("A near server is reached with BBR", .enabled(if: hasBBR, "needs tcp_bbr"))
  func nearServers() async throws {
    try await withConnections(1) { channels in
      try await UploadSocket.choose(.cubic, for: channels[0]).get()
      try await expect(.cubic, of: channels)
      try await UploadConnections().add(channels[0]).get()
      try await expect(.bbr, of: channels)
    }
  }

  @Test("Many connections to a distant server use CUBIC, and few BBR", .enabled(if: hasBBR, "needs tcp_bbr"))
  func distantServers() async throws {
    try await withConnections(7) { channels in
      let open = UploadConnections()
      for channel in channels[..<5] { try await open.add(channel, roundTrip: .seconds(1)).get() }
      // One to a near server does not count.
      try await open.add(channels[6], roundTrip: .milliseconds(999)).get()
      try await expect(.bbr, of: channels.dropLast(2))
      try await open.add(channels[5], roundTrip: .seconds(2)).get()
      try await expect(.cubic, of: channels.dropLast())
      try await expect(.bbr, of: channels.suffix(1))
      try await channels[0].close()
      try await expect(.bbr, of: Array(channels.dropFirst()))
    }
  }

  private static let hasBBR: Bool = {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control"
    guard let names = FileManager.default.contents(atPath: path) else { return false }
    return String(decoding: names, as: UTF8.self).split { $0.isWhitespace }.contains("bbr")
  }()
}
