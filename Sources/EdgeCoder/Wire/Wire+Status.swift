extension Wire {
  /// What a phone says of itself.
  public struct Status: Sendable, Hashable {
    /// The model's state as sent: a raw value of ``ModelState``, or whatever another implementation says.
    public var modelState: String
    /// Battery, 0–100; `nil` when the phone does not know.
    public var batteryPct: Int?

    /// Makes a status.
    public init(modelState: String, batteryPct: Int? = nil) {
      self.modelState = modelState
      self.batteryPct = batteryPct
    }

    /// Makes a status from a model state; a battery outside 0–100 reads as unknown.
    public init(modelState: ModelState, batteryPct: Int? = nil) {
      self.init(modelState: modelState.rawValue, batteryPct: Self.battery(batteryPct))
    }

    /// The status as one JSON object; an unknown battery is left out. At most 46 bytes for the states of
    /// ``ModelState``, so it fits one notification from an MTU of 49 up.
    public func encoded() -> [UInt8] {
      var writer = JSONObjectWriter(reserving: 64)
      writer.add("modelState", modelState)
      if let batteryPct { writer.add("batteryPct", batteryPct) }
      return writer.finish()
    }

    /// Reads a status from one JSON object. A battery of −1 (the phone application's "unknown"), or any other number
    /// outside 0–100, reads as unknown.
    /// - Throws: ``Wire/Malformed``.
    public static func decode(_ bytes: [UInt8]) throws(Malformed) -> Status {
      let fields = try Fields.decode(bytes)
      guard let modelState = fields.modelState, modelState.utf8.count <= Wire.idLimit else {
        throw Malformed(reason: "no usable string field \"modelState\"")
      }
      return Status(modelState: modelState, batteryPct: battery(fields.batteryPct))
    }

    private static func battery(_ value: Int?) -> Int? {
      value.flatMap { (0...100).contains($0) ? $0 : nil }
    }
  }
}
