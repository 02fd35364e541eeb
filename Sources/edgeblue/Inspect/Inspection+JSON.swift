import BlueZ

extension Inspection {
  var json: JSON {
    .object([
      "address": .string(address), "addressType": JSON(addressType), "name": JSON(name),
      "appearance": JSON(appearance.map(Int.init)), "rssi": JSON(rssi), "mtu": JSON(mtu), "unread": .number(unread),
      "services": .list(services.map(\.json)),
    ])
  }
}

extension Inspection.Service {
  fileprivate var json: JSON {
    .object([
      "uuid": .string(uuid.description), "name": JSON(AttributeNames.service(uuid)),
      "handle": JSON(handle.map(Int.init)),
      "primary": .bool(isPrimary), "includes": .list(includes.map { .string($0.description) }),
      "characteristics": .list(characteristics.map(\.json)),
    ])
  }
}

extension Inspection.Characteristic {
  fileprivate var json: JSON {
    let facts: [String: JSON] = [
      "uuid": .string(uuid.description), "name": JSON(AttributeNames.characteristic(uuid)),
      "handle": JSON(handle.map(Int.init)),
      "flags": .list(flags.description.split(separator: ", ").map { .string(String($0)) }),
      "descriptors": .list(descriptors.map(\.json)),
    ]
    return .object(facts.merging(Inspection.json(value, of: uuid)) { $1 })
  }
}

extension Inspection.Descriptor {
  fileprivate var json: JSON {
    let facts: [String: JSON] = [
      "uuid": .string(uuid.description), "name": JSON(AttributeNames.descriptor(uuid)),
      "handle": JSON(handle.map(Int.init)),
    ]
    return .object(facts.merging(Inspection.json(value, of: uuid)) { $1 })
  }
}

extension Inspection {
  /// Returns the bytes in hexadecimal, their meaning and text, or the reason why there are none.
  fileprivate static func json(_ value: Reading?, of uuid: BluetoothUUID) -> [String: JSON] {
    switch value {
    case nil: ["value": .null]
    case .refused(let reason): ["value": .null, "error": .string(reason)]
    case .value(let bytes):
      [
        "value": .string(AttributeText.hex(bytes)), "meaning": JSON(AttributeMeaning.words(uuid, bytes)),
        "text": JSON(AttributeText.readable(bytes, isText: AttributeMeaning.isText(uuid))),
      ]
    }
  }
}
