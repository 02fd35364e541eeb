import BlueZ

extension Inspection {
  /// The device on one line: `Pulse  00:AA:01:00:00:42 (random), -40 dBm, MTU 517, Heart Rate Sensor`.
  var title: String {
    let facts = [
      address + (addressType.map { " (\($0))" } ?? ""), rssi.map { "\($0) dBm" }, mtu.map { "MTU \($0)" },
      appearance.map { AssignedNumbers.appearance($0) ?? "appearance \($0)" },
    ]
    return (name?.printable ?? "(no name)") + "  " + facts.compactMap { $0 }.joined(separator: ", ")
  }

  /// Returns services, characteristics and descriptors as a tree, one line each.
  func tree(paint: (String, Terminal.Paint) -> String) -> [String] {
    services.flatMap { service -> [String] in
      let kind = service.isPrimary ? "" : "  secondary"
      let includes = service.includes.map { "  includes \(AttributeNames.service($0) ?? AttributeNames.short($0))" }
      let head = Self.label(AttributeNames.service(service.uuid), service.uuid, service.handle, paint)
      return [""] + [head + kind + includes.joined()] + Self.lines(service.characteristics, paint: paint)
    }
  }

  private static func lines(_ all: [Characteristic], paint: (String, Terminal.Paint) -> String) -> [String] {
    branches(all) { characteristic in
      let uuid = characteristic.uuid
      let head = label(AttributeNames.characteristic(uuid), uuid, characteristic.handle, paint)
      let value = shown(characteristic.value, of: uuid, paint)
      let below = branches(characteristic.descriptors) { descriptor in
        let head = label(AttributeNames.descriptor(descriptor.uuid), descriptor.uuid, descriptor.handle, paint)
        return [head + shown(descriptor.value, of: descriptor.uuid, paint)]
      }
      return ["\(head)  \(paint(characteristic.flags.description, .dim))\(value)"] + below
    }
  }

  /// Returns the lines of the branches of a tree; the first line of each branch has the connector.
  private static func branches<Item>(_ items: [Item], _ lines: (Item) -> [String]) -> [String] {
    items.enumerated().flatMap { index, item in
      let isLast = index == items.count - 1
      return lines(item).enumerated().map { line, text in
        (line == 0 ? (isLast ? "└─ " : "├─ ") : (isLast ? "   " : "│  ")) + text
      }
    }
  }

  private static func label(
    _ name: String?, _ uuid: BluetoothUUID, _ handle: UInt16?, _ paint: (String, Terminal.Paint) -> String
  ) -> String {
    let handle = handle.map { "  #\(AttributeText.hex([UInt8($0 >> 8), UInt8($0 & 0xff)]))" } ?? ""
    return paint(name ?? "Unknown", .bold) + "  " + AttributeNames.short(uuid) + paint(handle, .dim)
  }

  private static func shown(
    _ value: Reading?, of uuid: BluetoothUUID, _ paint: (String, Terminal.Paint) -> String
  ) -> String {
    switch value {
    case nil: ""
    case .value(let bytes): "  = " + AttributeText.text(uuid, bytes)
    case .refused(let reason): "  " + paint("! " + reason.printable, .yellow)
    }
  }
}
