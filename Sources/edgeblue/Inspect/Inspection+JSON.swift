import BlueZ
import JSONValues

extension Inspection {
  var json: JSONValue {
    .object([
      "address": .string(address), "addressType": JSONValue(addressType), "name": JSONValue(name),
      "appearance": JSONValue(appearance.map(Int.init)), "rssi": JSONValue(rssi), "mtu": JSONValue(mtu),
      "unread": .number(unread),
      "services": .array(services.map(\.json)),
    ])
  }
}

extension Inspection.Service {
  fileprivate var json: JSONValue {
    .object([
      "uuid": .string(uuid.description), "name": JSONValue(AttributeNames.service(uuid)),
      "handle": JSONValue(handle.map(Int.init)),
      "primary": .bool(isPrimary), "includes": .array(includes.map { .string($0.description) }),
      "characteristics": .array(characteristics.map(\.json)),
    ])
  }
}

extension Inspection.Characteristic {
  fileprivate var json: JSONValue {
    let facts: [String: JSONValue] = [
      "uuid": .string(uuid.description), "name": JSONValue(AttributeNames.characteristic(uuid)),
      "handle": JSONValue(handle.map(Int.init)),
      "flags": .array(flags.description.split(separator: ", ").map { .string(String($0)) }),
      "descriptors": .array(descriptors.map(\.json)),
    ]
    return .object(facts.merging(Inspection.json(value, of: uuid)) { $1 })
  }
}

extension Inspection.Descriptor {
  fileprivate var json: JSONValue {
    let facts: [String: JSONValue] = [
      "uuid": .string(uuid.description), "name": JSONValue(AttributeNames.descriptor(uuid)),
      "handle": JSONValue(handle.map(Int.init)),
    ]
    return .object(facts.merging(Inspection.json(value, of: uuid)) { $1 })
  }
}

extension Inspection {
  /// Returns the bytes in hexadecimal, their meaning and text, or the reason why there are none.
  fileprivate static func json(_ value: Reading?, of uuid: BluetoothUUID) -> [String: JSONValue] {
    switch value {
    case nil: ["value": .null]
    case .refused(let reason): ["value": .null, "error": .string(reason)]
    case .value(let bytes):
      [
        "value": .string(AttributeText.hex(bytes)), "meaning": JSONValue(AttributeMeaning.words(uuid, bytes)),
        "text": JSONValue(AttributeText.readable(bytes, isText: AttributeMeaning.isText(uuid))),
      ]
    }
  }
}
