/// What the file system tells of an interface and the routing socket does not.
struct DeviceFacts: Sendable, Hashable {
  /// The kernel's `DEVTYPE`: `wlan`, `wwan`, `bluetooth`, `bridge` …
  var type: String?
  /// The driver of the hardware, such as `rndis_host`.
  var driver: String?
}

/// Reads them, once for each interface.
struct DeviceFiles {
  /// `/sys/class/net`, or a test's own.
  var root = "/sys/class/net"
  private var known: [Int32: (name: String, facts: DeviceFacts)] = [:]

  init(root: String = "/sys/class/net") { self.root = root }

  /// The facts about an interface; none when the file system does not show this interface, but that of another
  /// network namespace which happens to have its name.
  mutating func facts(of link: NetworkLink) -> DeviceFacts {
    if let old = known[link.index], old.name == link.name { return old.facts }
    let facts = read(link)
    known[link.index] = (link.name, facts)
    return facts
  }

  /// Forgets an interface that is gone: its number may be given to another.
  mutating func forget(_ index: Int32) { known[index] = nil }

  /// Forgets all that are not listed.
  mutating func keep(_ indices: some Collection<Int32>) {
    let indices = Set(indices)
    known = known.filter { indices.contains($0.key) }
  }

  private func read(_ link: NetworkLink) -> DeviceFacts {
    guard !link.name.contains("/"), let event = text("\(link.name)/uevent"), let address = text("\(link.name)/address")
    else { return DeviceFacts() }
    let lines = event.split(separator: "\n")
    let hexadecimal = link.hardwareAddress.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    guard lines.contains("IFINDEX=\(link.index)"),
      address.split(separator: "\n").first ?? "" == hexadecimal.joined(separator: ":")
    else { return DeviceFacts() }
    let type = lines.first { $0.hasPrefix("DEVTYPE=") }?.dropFirst("DEVTYPE=".count)
    let driver = SmallFile.destination("\(root)/\(link.name)/device/driver")
    return DeviceFacts(
      type: type.map(String.init), driver: driver?.split(separator: "/").last.map(String.init))
  }

  private func text(_ file: String) -> String? { SmallFile.text("\(root)/\(file)") }
}
