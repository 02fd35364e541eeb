import Foundation
import SystemTesting
import Testing

@testable import NetworkPath

@Suite("The files of devices and of the resolver") struct SystemFilesTests {
  @Test("Name servers are read from resolv.conf") func nameServers() {
    let text =
      "# a comment\nnameserver 192.0.2.53\n  nameserver\t2001:db8::53 # mine\nnameserver nowhere\nsearch a b\nnameserver 192.0.2.53"
    #expect(ResolverFile.servers(in: text).map(\.description) == ["192.0.2.53", "2001:db8::53"])
    #expect(ResolverFile.servers(in: "nameserver") == [])
  }

  @Test("The servers behind the stub of systemd-resolved are read") func whomTheStubAsks() throws {
    let folder = try Folder()
    try folder.write("resolv.conf", "nameserver 127.0.0.53\noptions edns0")
    let file = ResolverFile(path: folder.path("resolv.conf"), upstream: folder.path("upstream"))
    #expect(file.read().map(\.description) == ["127.0.0.53"])
    try folder.write("upstream", "nameserver 192.0.2.53")
    #expect(file.read().map(\.description) == ["192.0.2.53"])
    try folder.write("resolv.conf", "nameserver 127.0.0.1")
    #expect(file.read().map(\.description) == ["127.0.0.1"])
  }

  /// As editors, DHCP clients and resolvconf each do it.
  ///
  /// A child that another test spawns holds the file that is written here open until it executes its program, and only
  /// then does the kernel report that it was closed: each notice may come late.
  @Test("A file that is written, replaced or relinked is noticed") func aFileThatIsWrittenReplacedOrTurnedIsNoticed()
    async throws
  {
    let folder = try Folder()
    let file = ResolverFile(path: folder.path("resolv.conf"), upstream: folder.path("upstream"))
    #expect(file.read() == [])
    func isNoticed() -> Bool {
      var polled = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&polled, 1, 0) == 1
    }
    func expect(_ server: String) async throws {
      try await eventually("\(server) is noticed") { isNoticed() }
      try await eventually("reading clears the descriptor") {
        #expect(file.read().map(\.description) == [server])
        return !isNoticed()
      }
    }
    #expect(!isNoticed())
    try folder.write("resolv.conf", "nameserver 192.0.2.1")
    try await expect("192.0.2.1")
    try folder.write("new", "nameserver 192.0.2.2")
    #expect(rename(folder.path("new"), folder.path("resolv.conf")) == 0)
    try await expect("192.0.2.2")
    let other = try Folder()
    try other.write("real", "nameserver 192.0.2.3")
    #expect(unlink(folder.path("resolv.conf")) == 0)
    #expect(symlink(other.path("real"), folder.path("resolv.conf")) == 0)
    try await expect("192.0.2.3")
    try other.write("real", "nameserver 192.0.2.4")
    try await expect("192.0.2.4")
  }

  @Test("The device files of another namespace are ignored") func whatAnInterfaceIs() throws {
    let folder = try Folder()
    try folder.write("wlp2s0/uevent", "DEVTYPE=wlan\nINTERFACE=wlp2s0\nIFINDEX=3\n")
    try folder.write("wlp2s0/address", "02:00:00:00:0a:01\n")
    try folder.write("wlp2s0/device/x", "")
    #expect(symlink("../../../bus/usb/drivers/rndis_host", folder.path("wlp2s0/device/driver")) == 0)
    var link = NetworkLink(index: 3, name: "wlp2s0", hardwareAddress: [2, 0, 0, 0, 10, 1])
    var files = DeviceFiles(root: folder.path)
    #expect(files.facts(of: link) == DeviceFacts(type: "wlan", driver: "rndis_host"))
    // The file system shows another namespace, with an interface of the same name in it.
    link.index = 4
    #expect(files.facts(of: link) == DeviceFacts())
    link.index = 3
    link.hardwareAddress = [2, 0, 0, 0, 10, 2]
    files.forget(3)
    #expect(files.facts(of: link) == DeviceFacts())
    link.name = "../wlp2s0"
    #expect(files.facts(of: link) == DeviceFacts())
  }

  @Test("The kind of an interface follows from its hardware, driver and virtual kind") func kindsOfInterfaces() {
    func kind(_ hardware: UInt16, _ kind: String? = nil, _ device: String? = nil) -> PathInterface.Kind {
      var link = NetworkLink(index: 1, name: "x", hardware: hardware, virtualKind: kind)
      link.device.type = device
      return link.kind
    }
    #expect(kind(1) == .ethernet)
    #expect(kind(1, "veth") == .ethernet)
    #expect(kind(1, "bridge") == .ethernet)
    #expect(kind(1, nil, "wlan") == .wifi)
    #expect(kind(801) == .wifi)
    #expect(kind(1, nil, "wwan") == .cellular)
    #expect(kind(519) == .cellular)
    #expect(kind(65534, nil, "wwan") == .cellular)
    #expect(kind(65534, "wireguard") == .tunnel)
    #expect(kind(1, "tun") == .tunnel)
    #expect(kind(768) == .tunnel)
    #expect(kind(776) == .tunnel)
    #expect(kind(772) == .loopback)
    #expect(kind(1, "dummy") == .other)
    #expect(kind(512) == .other)
    #expect(kind(32) == .other)
    #expect(kind(1, nil, "bluetooth") == .other)
  }
}

/// A folder of a test's own, removed with this object.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "edgeblue-path-\(UUID().uuidString.prefix(8))").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    // A left-over folder in the temporary directory harms nobody.
    try? FileManager.default.removeItem(atPath: path)
  }

  func path(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ name: String, _ text: String) throws {
    let url = URL(filePath: path(name))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }
}
