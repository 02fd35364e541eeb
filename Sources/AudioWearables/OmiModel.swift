internal import AudioIngest
public import BlueZ

/// A model of the Omi family, with its differences from the others.
///
/// ```swift
/// for model in OmiModel.allCases {
///   print(model.title, model.storesAudio ? "stores audio" : "", model.smallestMTU ?? 23)
/// }
/// ```
public enum OmiModel: String, Sendable, Hashable, Codable, CaseIterable {
  /// Friend, and Omi DevKit 1 and 2: Opus in frames of 10 ms, no clock, and a file of stored audio.
  case devKit
  /// Omi, the CV1: Opus in frames of 20 ms, a clock, and a ring buffer of stored audio.
  case cv1
  /// The omiGlass: as the CV1, with a camera, without a clock and without stored audio.
  case omiGlass
  /// The OpenGlass, from which omiGlass derives: PCM of 8 kHz by default, and a battery level that is always 100 %.
  case openGlass

  /// The name of the model, for display.
  public var title: String {
    switch self {
    case .devKit: "Omi DevKit"
    case .cv1: "Omi"
    case .omiGlass: "omiGlass"
    case .openGlass: "OpenGlass"
    }
  }

  /// A Boolean value that indicates whether the battery level is a measured value.
  public var reportsBattery: Bool { self != .openGlass }

  /// The smallest ATT MTU over which all audio fits, in bytes; `nil` if any MTU suffices.
  ///
  /// The CV1 sends no audio below 100 bytes. The glasses do not fragment, so a frame of 160 bytes and its header need 166.
  /// A DevKit adapts to the data length of the connection.
  public var smallestMTU: Int? {
    switch self {
    case .devKit: nil
    case .cv1: 100
    case .omiGlass, .openGlass: 166
    }
  }

  /// A Boolean value that indicates whether the model stores audio while it is not connected.
  public var storesAudio: Bool { self == .devKit || self == .cv1 }

  /// Creates the model of a device, by its services and names.
  ///
  /// Only the CV1 has a clock and a list of features, and only the glasses have a camera; these two differ by name.
  /// - Parameters:
  ///   - services: The UUIDs of the device's services.
  ///   - audioCharacteristics: The UUIDs of the characteristics of the audio service.
  ///   - names: The device name and the model number.
  public init(
    services: Set<BluetoothUUID>, audioCharacteristics: Set<BluetoothUUID>, names: [String]
  ) {
    if !audioCharacteristics.isDisjoint(with: [OmiWearable.uuid(0x05), OmiWearable.uuid(0x06)]) {
      self = names.contains { $0.lowercased().contains("openglass") } ? .openGlass : .omiGlass
    } else {
      self = services.isDisjoint(with: [OmiWearable.uuid(0x20), OmiWearable.uuid(0x30)]) ? .devKit : .cv1
    }
  }

  /// Returns the format in which a device stores audio, by its status characteristic and its firmware.
  ///
  /// The status of a ring has 16 bytes, that of a file 8. Firmware 3.0.17 to 3.0.19 has several files, in an unsupported
  /// format.
  /// - Returns: `nil` for any other.
  static func storedFormat(status: [UInt8], firmware: String?) -> StoredFormat? {
    let numbers = firmware?.drop { !$0.isNumber }.split(separator: ".") ?? []
    let version = numbers.map { Int($0.prefix { $0.isNumber }) ?? 0 }
    switch status.count {
    case 16: return .ring
    case 8 where version.count < 3 || !(17...19 ~= version[2] && version[..<2] == [3, 0]): return .file
    default: return nil
    }
  }
}
