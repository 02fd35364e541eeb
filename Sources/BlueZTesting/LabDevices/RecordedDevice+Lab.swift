package import Btsnoop
import Foundation

extension RecordedDevice {
  /// Returns a device that was recorded in the lab: `Tests/BtsnoopTests/Recordings/NAME.btsnoop`.
  package static func ofLab(_ name: String) throws -> RecordedDevice {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Tests/BtsnoopTests/Recordings")
    return try RecordedDevice(recording: [UInt8](Data(contentsOf: folder.appending(path: name + ".btsnoop"))))
  }

  /// Returns the device with other values that it sends from a characteristic.
  package func sending(_ uuid: String, _ change: (inout [UInt8]) -> Void) -> RecordedDevice {
    var device = self
    for reaction in device.reactions.indices {
      for place in device.reactions[reaction].sent.indices
      where table.characteristic(at: reactions[reaction].sent[place].handle)?.uuid == AttributeUUID(uuid) {
        change(&device.reactions[reaction].sent[place].value)
      }
    }
    return device
  }

  /// Returns the device with other answers to reads of a characteristic.
  package func answering(_ uuid: String, _ change: (inout Answer) -> Void) -> RecordedDevice {
    var device = self
    for handle in table.characteristics.filter({ $0.uuid == AttributeUUID(uuid) }).map(\.valueHandle) {
      for place in device.answers[handle, default: []].indices { change(&device.answers[handle, default: []][place]) }
    }
    return device
  }

  /// Returns the device with other refusals of writes to a characteristic.
  package func refusing(_ uuid: String, with error: ATTError) -> RecordedDevice {
    var device = self
    for place in reactions.indices {
      guard case .write(let handle, _) = reactions[place].cause,
        table.characteristic(at: handle)?.uuid == AttributeUUID(uuid)
      else { continue }
      device.reactions[place].error = error
    }
    return device
  }
}
