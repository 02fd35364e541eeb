/// A position in a device's store: everything before it is on disk.
package struct StoredPosition: Hashable, Sendable {
  /// The number of the next record; in a file, of the next block.
  package var next: UInt64
  /// The identifier of the ring, if it is known.
  package var ring: UInt64?
  /// The hash of the record before, by which a store is recognized.
  package var tail: UInt64?

  package init(next: UInt64, ring: UInt64? = nil, tail: UInt64? = nil) {
    self.next = next
    self.ring = ring
    self.tail = tail
  }
}

/// The reason why a transfer ended.
package enum TransferEnd: Hashable, Sendable {
  /// All records are on disk, and the device has freed them.
  case complete
  /// The device refused, with this status.
  case refused(UInt8)
  /// The device did not respond.
  case unanswered
  /// Something was missing in each attempt.
  case unreliable
  /// The device uses another format; the value is the length in bytes of its records, or of its status.
  case unknown(Int)
}

/// An event of a transfer, to which its state machine responds.
package enum TransferEvent: Hashable, Sendable {
  /// The transfer starts.
  case start
  /// A notification arrived.
  case notification([UInt8])
  /// The status characteristic was read, and has this value.
  case size([UInt8])
  /// The records of the last ``TransferAction/keep(_:)`` are on disk.
  case kept
  /// No notification has arrived for ten seconds.
  case timedOut
}

/// An action of a transfer, which its owner performs in order.
package enum TransferAction: Hashable, Sendable {
  /// Write a command to the device.
  case write([UInt8])
  /// Read the status characteristic, and pass it on as ``TransferEvent/size(_:)``.
  case readSize
  /// Write complete records to the disk, and then pass on ``TransferEvent/kept``.
  case keep([UInt8])
  /// Close what has been kept so far: the next record starts here.
  case restart(at: UInt64, ring: UInt64?)
  /// Record that the device has stored audio up to this record until now.
  case filled(to: UInt64)
  /// Discard the records from here on: some of them are missing.
  case discard(from: UInt64)
  /// Record that the device has deleted its store, and counts from 0 again.
  case cleared
  /// Leave the radio to the live audio for a while.
  case rest
  /// End the transfer.
  case end(TransferEnd)

  /// Returns this action, followed by others.
  func then(_ rest: [TransferAction]) -> [TransferAction] { [self] + rest }
}

/// A state machine that fetches a store, without a clock, a radio or a disk: events go in, actions come out.
///
/// Nothing is freed on the device before ``TransferEvent/kept`` has confirmed that it is on this disk.
package protocol StoreTransfer: Sendable {
  var counters: StoredCounters { get }
  /// The number of records still on the device, if that is known.
  var remaining: Int? { get }

  mutating func handle(_ event: TransferEvent) -> [TransferAction]
}

extension StoredFormat {
  /// Returns a transfer for a store of this format that continues at a position.
  package func transfer(from position: StoredPosition?) -> any StoreTransfer {
    switch self {
    case .file: FileTransfer(from: position)
    case .ring: RingTransfer(from: position)
    }
  }
}
