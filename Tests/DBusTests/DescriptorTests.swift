import DBus
import DBusTesting
import Foundation
import Streams
import SystemTesting
import Testing

@Suite("File descriptors", .timeLimit(.minutes(5)))
struct DescriptorTests {
  static let interface = "org.edgeblue.Descriptors1"

  static func pipe() throws -> (read: FileDescriptor, write: FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw TestTimeout("pipe: \(errno)") }
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  /// How many descriptors of this process are an end of this one's pipe: its two, and those that came from sending it.
  /// Others come and go with the tests beside.
  static func openEnds(of pipe: FileDescriptor) throws -> Int {
    let folder = "/proc/self/fd/"
    let name = try #require(
      try pipe.withNumber { try FileManager.default.destinationOfSymbolicLink(atPath: folder + "\($0)") })
    return try FileManager.default.contentsOfDirectory(atPath: folder).count {
      // One that was closed meanwhile has no name.
      (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0)) == name
    }
  }

  @Test("Bytes written to a descriptor at one end of the bus are read at the other")
  func through() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try server.connection.export(
      "/pipe",
      [
        Interface(
          Self.interface,
          methods: [
            .init("Open", in: [.init("name", "s")], out: [.init("fd", "h"), .init("size", "q")]) { _ in
              let (read, write) = try Self.pipe()
              write.withNumber { _ = Glibc.write($0, "hello", 5) }
              return [.fileDescriptor(read), .uint16(5)]
            }
          ])
      ])
    let client = try await bus.connect()
    let reply = try await client.call(server.name, "/pipe", Self.interface, "Open", ["x"], returning: "hq")
    let descriptor = try #require(reply[0].fileDescriptor)
    let (text, flags) = try #require(
      descriptor.withNumber { number in
        var buffer = [UInt8](repeating: 0, count: 16)
        let count = read(number, &buffer, 16)
        return (String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self), fcntl(number, F_GETFD))
      })
    #expect(text == "hello")
    #expect(flags & FD_CLOEXEC != 0, "a descriptor must not leak into programs we start")
    withExtendedLifetime(object) {}
  }

  @Test("A descriptor passes to dbus-fast and back", .enabled(if: PythonPeer.isInstalled, "no .venv-peers"))
  func python() async throws {
    let bus = try PrivateBus()
    let peer = try await PythonPeer(bus)
    let client = try await bus.connect()
    let (read, write) = try Self.pipe()
    write.withNumber { _ = Glibc.write($0, "through python", 14) }
    write.close()
    let bytes = try await client.call(
      PythonPeer.name, "/peer", PythonPeer.interface, "ReadAll", [.fileDescriptor(read)], returning: "ay")
    #expect(bytes == [.bytes(Array("through python".utf8))])
    let (other, keep) = try Self.pipe()
    let back = try await client.call(
      PythonPeer.name, "/peer", PythonPeer.interface, "Echo", [.fileDescriptor(other)], returning: "h")
    keep.withNumber { _ = Glibc.write($0, "x", 1) }
    var byte: UInt8 = 0
    let got = try #require(back[0].fileDescriptor).withNumber { Glibc.read($0, &byte, 1) }
    #expect(got == 1)
    #expect(byte == UInt8(ascii: "x"))
    withExtendedLifetime(peer) {}
  }

  @Test("3,000 calls with a descriptor each way leave none open")
  func manyCalls() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try server.connection.export(
      "/echo",
      [
        Interface(
          Self.interface,
          methods: [
            .init("Echo", in: [.init("fd", "h")], out: [.init("fd", "h")]) { $0.arguments }
          ])
      ])
    let client = try await bus.connect()
    let (read, write) = try Self.pipe()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<375 {
            try await client.call(server.name, "/echo", Self.interface, "Echo", [.fileDescriptor(read)], returning: "h")
          }
        }
      }
      try await group.waitForAll()
    }
    try await eventually("the descriptors are closed") { try Self.openEnds(of: read) == 2 }
    withExtendedLifetime((object, write)) {}
  }

  /// Exports a method that returns its descriptor, and one that returns another descriptor when the gate lets it.
  private static func exportEcho(
    _ server: NamedPeer, late read: FileDescriptor, when gate: AsyncStream<Void>
  ) throws -> ExportedObject {
    try server.connection.export(
      "/echo",
      [
        Interface(
          interface,
          methods: [
            .init("Echo", in: [.init("fd", "h")], out: [.init("fd", "h")]) { $0.arguments },
            .init("Late", out: [.init("fd", "h")]) { _ in
              for await _ in gate { break }
              return [.fileDescriptor(read)]
            },
          ])
      ])
  }

  @Test("Unused descriptors are closed: of refused calls, unexpected types, late and dropped replies, and signals")
  func notTaken() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let (read, write) = try Self.pipe()
    let object = try Self.exportEcho(server, late: read, when: gate)
    let client = try await bus.connect()
    try await client.call(server.name, "/echo", Self.interface, "Echo", [.fileDescriptor(read)])
    let signals = try await client.signals(MatchRule(interface: Self.interface), limit: 2)
    for _ in 0..<50 {
      // An argument the method does not take, a method that is not there, a reply type that is not wanted.
      _ = try await dbusError {
        try await client.call(server.name, "/echo", Self.interface, "Late", [.fileDescriptor(read)])
      }
      _ = try await dbusError {
        try await client.call(server.name, "/echo", Self.interface, "Nothing", [.fileDescriptor(read)])
      }
      let unwanted = try await dbusError {
        try await client.call(server.name, "/echo", Self.interface, "Echo", [.fileDescriptor(read)], returning: "s")
      }
      #expect(unwanted?.code == .unexpectedReply)
      let late = Task {
        try await client.call(server.name, "/echo", Self.interface, "Late", options: .init(timeout: .milliseconds(1)))
      }
      _ = await late.result
      open.yield()
      try object.emit(Self.interface, "Here", [.fileDescriptor(read)])
    }
    try await client.call(server.name, "/echo", Self.interface, "Echo", [.fileDescriptor(read)])
    #expect(signals.dropped == 48)
    // Two signals wait in the stream, with a descriptor each.
    try await eventually("the descriptors are closed") { try Self.openEnds(of: read) == 2 + 2 }
    withExtendedLifetime((object, write, signals)) {}
  }

  @Test("A descriptor is closed once, by its owner")
  func ownership() throws {
    let (read, write) = try Self.pipe()
    let number = try #require(read.take())
    #expect(read.take() == nil)
    #expect(read.withNumber { _ in } == nil)
    read.close()
    #expect(fcntl(number, F_GETFD) >= 0, "what was taken stays open")
    close(number)
    write.close()
    write.close()
    #expect(write.withNumber { _ in } == nil)
  }

  @Test("A closed descriptor cannot be sent, which is an error")
  func closedDescriptor() async throws {
    let bus = try PrivateBus()
    let client = try await bus.connect()
    let (read, write) = try Self.pipe()
    read.close()
    let error = try await dbusError { try await client.call("org.x.Y", "/", "org.x.Y", "M", [.fileDescriptor(read)]) }
    #expect(error?.code == .disconnected || error?.code == .invalidArgument)
    #expect(client.isOpen)
    withExtendedLifetime(write) {}
  }
}
