@testable import NetworkPath

/// Short constructors of the kernel's messages.
enum Say {
  static let up: UInt32 = 0x1
  static let lowerUp: UInt32 = 0x10000
  static let loopback: UInt32 = 0x8

  static func link(
    _ index: Int32, _ name: String, isUp: Bool = true, state: UInt8 = 6, hardware: UInt16 = 1,
    device: DeviceFacts = DeviceFacts()
  ) -> RouteMessage {
    var link = NetworkLink(index: index, name: name, flags: isUp ? up | lowerUp : 0, operationalState: isUp ? state : 2)
    link.hardware = hardware
    link.device = device
    return .link(link)
  }

  static let lo = RouteMessage.link(
    NetworkLink(index: 1, name: "lo", flags: up | lowerUp | loopback, operationalState: 0, hardware: 772))

  static func entry(_ link: Int32, _ text: String, scope: UInt8 = 0, flags: UInt32 = 0) -> NetworkAddress {
    NetworkAddress(key: .init(link: link, address: IPAddress(text)!, prefixLength: 24), scope: scope, flags: flags)
  }

  static func address(_ link: Int32, _ text: String, scope: UInt8 = 0, flags: UInt32 = 0) -> RouteMessage {
    .address(entry(link, text, scope: scope, flags: flags))
  }

  static func route(
    _ link: Int32, via gateway: String? = nil, _ family: IPAddress.Family = .v4, metric: UInt32 = 0
  ) -> DefaultRoute {
    DefaultRoute(family: family, metric: metric, link: link, gateway: gateway.flatMap { IPAddress($0) })
  }

  static func routes(_ routes: DefaultRoute..., replaces: Bool = false) -> RouteMessage {
    .routes(routes, replaces: replaces)
  }

  /// A host with a cable, an address and a default route.
  static let wired: [RouteMessage] = [
    lo, link(2, "eth0"), address(1, "127.0.0.1", scope: 254), address(2, "192.0.2.2"),
    routes(route(2, via: "192.0.2.1")),
  ]

  static func path(_ messages: [RouteMessage], _ surroundings: PathSurroundings = .init()) -> PathSnapshot {
    PathTables(messages).snapshot(surroundings)
  }
}

/// A box around a value, because `#expect` accepts no mutating call.
final class Held<Value> {
  var value: Value

  init(_ value: Value) { self.value = value }

  func callAsFunction<R>(_ body: (inout Value) -> R) -> R { body(&value) }
}
