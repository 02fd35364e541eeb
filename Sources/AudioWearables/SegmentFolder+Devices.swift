public import AudioIngest
public import BlueZ

/// A wearable that is recorded into a folder, also by later recorders.
///
/// ```swift
/// let folder = try SegmentFolder(path: "recordings")
/// for wearable in try folder.wearables(of: OmiWearable()) { print(wearable.address, wearable.protection) }
/// ```
public struct RememberedWearable: Sendable, Hashable {
  /// The protection of the connections to a wearable.
  public enum Protection: String, Sendable, Hashable, CaseIterable {
    /// No recorder has connected yet.
    case unknown
    /// The wearable has paired: its connections are encrypted, and no other device can take its place.
    case paired
    /// The wearable cannot pair: others in range can hear the audio, and can pose as the wearable.
    case unpaired
  }

  /// The address of the wearable.
  public var address: BluetoothAddress
  /// The protection that the first connection has found.
  public var protection: Protection

  /// Creates a record of a wearable to which no recorder has connected yet.
  public init(address: BluetoothAddress, protection: Protection = .unknown) {
    self.address = address
    self.protection = protection
  }
}

extension SegmentFolder {
  /// The largest size of the file of devices in bytes.
  private static let devicesLimit = 64 << 10

  /// Returns the wearables of a kind that are recorded into this folder, in the order of their choice.
  /// - Throws: `AudioIngestError` with code `.storage` or `.damagedFile`.
  public func wearables(of kind: any Wearable) throws(AudioIngestError) -> [RememberedWearable] {
    try rememberedDevices().filter { $0.kind == kind.audio.characteristic }.map(\.wearable)
  }

  /// Stores the wearables of a kind for later recorders, in place of those chosen before.
  ///
  /// A wearable that could not pair before is asked to pair at the next connection.
  /// - Throws: `AudioIngestError`.
  public func remember(_ addresses: [BluetoothAddress], of kind: any Wearable) throws(AudioIngestError) {
    let chosen = addresses.map { RememberedDevice(kind.audio.characteristic, RememberedWearable(address: $0)) }
    try change { all in
      all.removeAll { $0.kind == kind.audio.characteristic }
      all += chosen
    }
  }

  /// Returns the wearable with an address; `nil` if it is not stored.
  func remembered(_ address: BluetoothAddress, of kind: any Wearable) throws(AudioIngestError) -> RememberedWearable? {
    try wearables(of: kind).first { $0.address == address }
  }

  /// Stores the protection of a wearable, and the wearable itself if it is not stored.
  /// - Throws: `AudioIngestError`.
  func remember(_ wearable: RememberedWearable, of kind: any Wearable) throws(AudioIngestError) {
    let device = RememberedDevice(kind.audio.characteristic, wearable)
    try change { all in
      guard let index = all.firstIndex(where: { $0.kind == device.kind && $0.wearable.address == wearable.address })
      else { return all.append(device) }
      all[index] = device
    }
  }

  private struct RememberedDevice: Hashable {
    /// The characteristic that sends the audio.
    let kind: BluetoothUUID
    let wearable: RememberedWearable

    init(_ kind: BluetoothUUID, _ wearable: RememberedWearable) {
      self.kind = kind
      self.wearable = wearable
    }

    /// Reads a line of the file; `nil` if it is none. Before version 0.2.0 a line has no protection.
    ///
    /// A protection that cannot be read is not an unknown one: the wearable may have paired, and then nothing is recorded
    /// from a device without its keys.
    init?(_ line: Substring) {
      let words = line.split(separator: " ").map(String.init)
      guard (2...3).contains(words.count), let kind = BluetoothUUID(words[0]), let address = BluetoothAddress(words[1]),
        let protection = words.count > 2 ? RememberedWearable.Protection(rawValue: words[2]) : .unknown
      else { return nil }
      self.init(kind, RememberedWearable(address: address, protection: protection))
    }

    var line: String { "\(kind) \(wearable.address) \(wearable.protection.rawValue)\n" }
  }

  private func change(_ body: (inout [RememberedDevice]) -> Void) throws(AudioIngestError) {
    try devices.withLock { _ throws(AudioIngestError) in
      let before = try rememberedDevices()
      var devices = before
      body(&devices)
      guard devices != before else { return }
      let lines = devices.map(\.line).joined()
      try storage(disk.replace(paths.devices, with: Array(lines.utf8), by: paths.devices + ".new"))
    }
  }

  private func rememberedDevices() throws(AudioIngestError) -> [RememberedDevice] {
    let text = String(decoding: try disk.contents(of: paths.devices, limit: Self.devicesLimit) ?? [], as: UTF8.self)
    var devices: [RememberedDevice] = []
    for line in text.split(separator: "\n") {
      guard let device = RememberedDevice(line) else {
        throw AudioIngestError(.damagedFile, "\(paths.devices) does not contain wearables")
      }
      devices.append(device)
    }
    return devices
  }
}
