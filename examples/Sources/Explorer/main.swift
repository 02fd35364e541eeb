// Prints the services, characteristics and descriptors of a device as a tree, with their flags and values.
//
//     Explorer ADDRESS [ADAPTER]
import BlueZ
import Glibc

func show(_ depth: Int, _ name: String?, _ uuid: BluetoothUUID, _ handle: UInt16?, _ more: String) {
  let number = handle.map { String($0, radix: 16) } ?? "?"
  let title = [name, uuid.short.map { String($0, radix: 16) } ?? "\(uuid)"].compactMap(\.self).joined(separator: "  ")
  print(String(repeating: "  ", count: depth) + "\(title)  handle \(number)  \(more)")
}

/// Returns a value in hexadecimal and, if it is printable, as text; or the error of reading it.
func shown(_ read: () async throws -> [UInt8]) async -> String {
  do {
    let value = try await read()
    let hex = value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let isText = !value.isEmpty && value.allSatisfy { (32..<127).contains($0) }
    return "= \(hex)" + (isText ? " \"\(String(decoding: value, as: UTF8.self))\"" : "")
  } catch {
    return "(\(error))"
  }
}

let words = CommandLine.arguments.dropFirst()
guard let address = words.first.flatMap(BluetoothAddress.init) else {
  print("usage: Explorer ADDRESS [ADAPTER]")
  exit(2)
}
await Session.runProgram { session in
  let adapter = try await session.adapter(words.dropFirst().first)
  try await adapter.setPowered(true)

  let device = try await adapter.find(address)
  try await device.connect()
  print(device, "MTU", device.mtu ?? "unknown")
  for service in device.services {
    let included = service.includedServices.map { "includes \($0.uuid)" }
    let notes = (service.isPrimary ? [] : ["secondary"]) + included
    show(0, AssignedNumbers.service(service.uuid), service.uuid, service.handle, notes.joined(separator: ", "))
    for characteristic in service.characteristics {
      let value = characteristic.flags.contains(.read) ? await shown { try await characteristic.read() } : ""
      let uuid = characteristic.uuid
      let handle = characteristic.handle
      show(1, AssignedNumbers.characteristic(uuid), uuid, handle, "[\(characteristic.flags)] \(value)")
      for descriptor in characteristic.descriptors {
        let uuid = descriptor.uuid
        let handle = descriptor.handle
        show(2, AssignedNumbers.descriptor(uuid), uuid, handle, await shown { try await descriptor.read() })
      }
    }
  }
  try await device.disconnect()
}
