extension Wire {
  /// The status of a phone: the state of its model and its battery.
  ///
  /// ```swift
  /// let status = Wire.Status(modelState: .ready, batteryPct: 80)
  /// print(status.encoded().count)  // 40
  /// ```
  public struct Status: Sendable, Hashable {
    /// The state of the model as sent: a raw value of ``ModelState``, or another text of another implementation.
    public var modelState: String
    /// The battery level in percent, 0 to 100; `nil` when unknown.
    public var batteryPct: Int?

    /// Creates a status from its fields, unchecked.
    public init(modelState: String, batteryPct: Int? = nil) {
      self.modelState = modelState
      self.batteryPct = batteryPct
    }

    /// Creates a status from a model state.
    /// - Parameters:
    ///   - modelState: The state of the model.
    ///   - batteryPct: The battery level in percent; a value outside 0 to 100 counts as unknown.
    public init(modelState: ModelState, batteryPct: Int? = nil) {
      self.init(modelState: modelState.rawValue, batteryPct: Self.battery(batteryPct))
    }

    /// Returns the status as one JSON object in UTF-8, without an unknown battery level.
    ///
    /// The object has at most 46 bytes for the states of ``ModelState``, which fits one notification from an MTU of 49.
    public func encoded() -> [UInt8] {
      var writer = JSONObjectWriter(reserving: 64)
      writer.add("modelState", modelState)
      if let batteryPct { writer.add("batteryPct", batteryPct) }
      return writer.finish()
    }

    /// Reads a status from one JSON object.
    ///
    /// A battery level outside 0 to 100 counts as unknown; the phone application sends −1.
    /// - Throws: ``Wire/Malformed`` when the model state is missing or has more than ``Wire/idLimit`` bytes.
    public static func decode(_ bytes: [UInt8]) throws(Malformed) -> Status {
      let fields = try Fields.decode(bytes)
      guard let modelState = fields.modelState, modelState.utf8.count <= Wire.idLimit else {
        throw Malformed(reason: "the string field \"modelState\" is missing or longer than \(Wire.idLimit) bytes")
      }
      return Status(modelState: modelState, batteryPct: battery(fields.batteryPct))
    }

    private static func battery(_ value: Int?) -> Int? {
      value.flatMap { (0...100).contains($0) ? $0 : nil }
    }
  }
}
