import BlueZ
import Btsnoop

/// The names and values of attributes in a recording, for display.
enum TrafficNames {
  static func uuid(_ uuid: AttributeUUID) -> BluetoothUUID { BluetoothUUID(littleEndian: uuid.littleEndian) ?? "0000" }

  static func service(_ kind: AttributeUUID) -> String {
    AttributeNames.service(uuid(kind)) ?? AttributeNames.short(uuid(kind))
  }

  static func characteristic(_ kind: AttributeUUID) -> String {
    AttributeNames.characteristic(uuid(kind)) ?? AttributeNames.short(uuid(kind))
  }

  /// An attribute with a name: a value, a descriptor of it, or only a handle.
  struct Attribute {
    var name: String
    /// The kind of the value; `nil` where the recording does not show it.
    var uuid: BluetoothUUID?
    var characteristic: AttributeTable.Characteristic?
    var service: AttributeTable.Service?
    /// A Boolean value that indicates whether the attribute is the configuration of notifications.
    var isConfiguration = false
  }

  static func attribute(_ handle: UInt16, _ table: AttributeTable) -> Attribute {
    let digits = AttributeText.hex([UInt8(handle >> 8), UInt8(truncatingIfNeeded: handle)])
    let service = table.service(around: handle)
    guard let found = table.characteristic(around: handle) else {
      return Attribute(name: "attribute 0x\(digits)", service: service)
    }
    let name = characteristic(found.uuid)
    if found.valueHandle == handle {
      return Attribute(name: name, uuid: uuid(found.uuid), characteristic: found, service: service)
    }
    guard let descriptor = table.descriptor(at: handle) else {
      return Attribute(name: "attribute 0x\(digits) of \(name)", characteristic: found, service: service)
    }
    let kind = uuid(descriptor.uuid)
    return Attribute(
      name: "\(AttributeNames.descriptor(kind) ?? AttributeNames.short(kind)) of \(name)", uuid: kind,
      characteristic: found, service: service, isConfiguration: descriptor.uuid.short == 0x2902)
  }

  /// Returns a value for display.
  static func value(_ bytes: [UInt8], _ attribute: Attribute) -> String {
    guard !bytes.isEmpty else { return "empty" }
    return AttributeText.text(attribute.uuid ?? "0000", bytes)
  }

  static func advertisement(_ data: AdvertisingData) -> String {
    var parts: [String] = []
    if let name = data.name { parts.append("\"\(name.printable)\"") }
    let services = Array(Set(data.services + data.serviceData.map(\.service))).map(service).sorted()
    if !services.isEmpty { parts.append(services.joined(separator: ", ")) }
    for (company, bytes) in data.manufacturerData {
      parts.append("\(AssignedNumbers.company(company) ?? "company \(company)") data (\(bytes.count) bytes)")
    }
    return parts.joined(separator: ", ")
  }
}
