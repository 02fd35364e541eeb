internal import DurableFiles

/// A reader of the facts about interfaces that only the file system has, with a cache.
struct DeviceFiles {
  /// The folder of network devices; a test has its own.
  var root = "/sys/class/net"
  private var known: [Int32: (name: String, facts: DeviceFacts)] = [:]

  init(root: String = "/sys/class/net") { self.root = root }

  /// Returns the facts about an interface; none if the file system shows another network namespace, with an interface
  /// of the same name.
  mutating func facts(of link: NetworkLink) -> DeviceFacts {
    if let old = known[link.index], old.name == link.name { return old.facts }
    let facts = read(link)
    known[link.index] = (link.name, facts)
    return facts
  }

  /// Forgets a removed interface, whose index may be reused.
  mutating func forget(_ index: Int32) { known[index] = nil }

  /// Forgets all interfaces that are not listed.
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
    let driver = SmallFile("\(root)/\(link.name)/device/driver").destination
    return DeviceFacts(
      type: type.map(String.init), driver: driver?.split(separator: "/").last.map(String.init))
  }

  private func text(_ file: String) -> String? { SmallFile("\(root)/\(file)").text() }
}
