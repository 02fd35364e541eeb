import AudioIngestTesting
import DeterministicTesting
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The transfer of stored recordings", .computing) struct StoreTransferTests {
  // MARK: A ring

  @Test("A ring is fetched in groups of records, which are then freed") func aRingIsFetchedAPieceAtATimeAndFreed() {
    var talk = Talk(FakeRing(records: (0..<200).map { StoredSound.record($0) }, read: 10))
    #expect(talk.run() == .complete)
    #expect(talk.kept == (10..<200).map { StoredSound.record($0) })
    #expect(talk.restarts == [10])
    #expect(talk.store.freed == 200)
    #expect(talk.rests == 2)
    #expect(talk.transfer.counters.records == 190)
    #expect(talk.transfer.remaining == 0)
    // The next time there is nothing, and then there is more.
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.restarts == [10])
    talk.change { $0.records += (200..<230).map { StoredSound.record($0) } }
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.kept == (10..<230).map { StoredSound.record($0) })
    #expect(talk.restarts == [10])
  }

  @Test("An empty store is neither restarted nor freed") func anEmptyStoreIsLeftAlone() {
    var ring = Talk(FakeRing())
    #expect(ring.run() == .complete)
    #expect(ring.restarts.isEmpty)
    #expect(ring.kept.isEmpty)
    var file = Talk(FakeFile())
    #expect(file.run() == .complete)
    #expect(file.restarts.isEmpty)
    #expect(file.store.freed == 0)
  }

  /// The device was not told that a piece is here: it still has it, and it is known again.
  @Test("Records on disk are not stored twice") func whatIsHereAlreadyIsNotKeptTwice() {
    var talk = Talk(FakeRing(records: (0..<100).map { StoredSound.record($0) }))
    _ = talk.run()
    talk.change { $0.read = 0 }
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.kept.count == 100)
    #expect(talk.store.freed == 100)
    #expect(talk.restarts == [0])
    #expect(talk.transfer.counters.replaced == 0)
  }

  @Test("Another ring than the last time is read from its start") func anotherRingBeginsAnew() {
    let records = (0..<100).map { StoredSound.record($0) }
    var talk = Talk(FakeRing(records: records, ring: 1))
    _ = talk.run()
    // Formatted: as many records as before, and a few that are not freed.
    talk.change { $0 = FakeRing(records: (500..<600).map { StoredSound.record($0) }, read: 90, ring: 2) }
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.restarts == [0, 90])
    #expect(talk.transfer.counters.replaced == 1)
    // One that does not say which it is.
    talk.change { $0 = FakeRing(records: (700..<850).map { StoredSound.record($0) }, read: 50) }
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.restarts == [0, 90, 50])
    #expect(
      talk.kept == records + (590..<600).map { StoredSound.record($0) } + (750..<850).map { StoredSound.record($0) })
  }

  @Test("Records that the device has overwritten are counted") func whatTheDeviceHasOverwrittenIsCounted() {
    var talk = Talk(FakeRing(records: (0..<50).map { StoredSound.record($0) }))
    _ = talk.run()
    talk.change {
      $0.records += (50..<200).map { StoredSound.record($0) }
      $0.read = 120
    }
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.restarts == [0, 120])
    #expect(talk.transfer.counters.overwritten == 70)
  }

  /// Any notification may be lost: a piece comes whole or is asked for again, and nothing is freed that is not here.
  @Test("Records that were lost in transit are requested again", arguments: [1, 3]) func whatIsLostIsAskedForAgain(
    _ percent: Int
  ) {
    for seed in 0..<UInt64(Sanitizer.rounds(20)) {
      var random = SeededGenerator(seed: seed)
      let count = Int.random(in: 0..<200, using: &random)
      var talk = Talk(FakeRing(records: (0..<count).map { StoredSound.record($0) }))
      talk.loss = { Int.random(in: 0..<100, using: &random) < percent }
      var links = 0
      repeat {
        if links > 0 { talk.again() }
        links += 1
      } while talk.run() != .complete && links < 200
      #expect(talk.kept == (0..<count).map { StoredSound.record($0) }, "seed \(seed)")
      #expect(talk.store.freed == count, "seed \(seed)")
      #expect(links < 200, "seed \(seed)")
    }
  }

  @Test("A transfer ends when the device refuses") func aRingThatRefuses() {
    var talk = Talk(FakeRing(records: [StoredSound.record(0)], refusal: 9))
    #expect(talk.run() == .refused(9))
    #expect(talk.kept.isEmpty)
    var odd = RingTransfer(from: nil)
    _ = odd.handle(.start)
    let info = [2] + UInt64(0).bigEndianBytes + UInt64(1).bigEndianBytes + [UInt8](repeating: 0, count: 12)
    #expect(odd.handle(.notification(info + UInt16(512).bigEndianBytes)) == [.end(.unknown(512))])
  }

  @Test("A transfer ends when the device does not respond") func aDeviceThatSaysNothingIsGivenUp() {
    for format in StoredFormat.allCases {
      var transfer = format.transfer(from: nil)
      var actions = transfer.handle(.start)
      for _ in 0..<RingTransfer.attempts where actions.last != .end(.unanswered) {
        actions = transfer.handle(.timedOut)
      }
      #expect(actions.last == .end(.unanswered))
    }
  }

  // MARK: A file

  @Test("A file is fetched completely and then deleted on the device") func aFileIsFetchedToItsEndAndDeleted() {
    var talk = Talk(FakeFile(blocks: (0..<123).map(StoredSound.block)))
    #expect(talk.run() == .complete)
    #expect(talk.kept == (0..<123).map(StoredSound.block))
    #expect(talk.store.freed == 1)
    #expect(talk.isCleared)
    #expect(talk.filled == [123])
    #expect(talk.transfer.counters.records == 123)
    #expect(talk.transfer.remaining == 0)
    // Two heartbeats, and the answers to them.
    #expect(talk.transfer.counters.malformed == 0)
  }

  /// A link that ends in between, as often as it likes.
  @Test("The transfer of a file continues after lost connections") func aFileGoesOnWhereItWasLeft() {
    for seed in 0..<UInt64(Sanitizer.rounds(20)) {
      var random = SeededGenerator(seed: seed)
      let blocks = (0..<Int.random(in: 1..<150, using: &random)).map(StoredSound.block)
      var talk = Talk(FakeFile(blocks: blocks))
      var links = 0
      var end: TransferEnd?
      while end != .complete, links < 100 {
        if links > 0 { talk.again() }
        talk.linkLasts = Int.random(in: 5..<60, using: &random)
        end = talk.run()
        links += 1
      }
      #expect(talk.kept == blocks, "seed \(seed), \(links) links")
      #expect(Set(talk.restarts) == [0], "seed \(seed), \(links) links")
      #expect(talk.store.freed == 1, "seed \(seed), \(links) links")
    }
  }

  /// A block that is lost shows at the end: the file stays, and what came is forgotten.
  @Test("A file of which a block was lost is read again") func aFileWithALossIsReadAgain() {
    let blocks = (0..<60).map(StoredSound.block)
    var talk = Talk(FakeFile(blocks: blocks))
    var sent = 0
    talk.loss = {
      sent += 1
      return sent == 30
    }
    #expect(talk.run() == .unreliable)
    #expect(talk.store.freed == 0)
    #expect(talk.kept.isEmpty)
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.kept == blocks)
    #expect(talk.store.freed == 1)
  }

  /// The file of the last time was deleted by somebody else, and another one has grown.
  @Test("Another file than the last time is read from its start") func anotherFileBeginsAnew() {
    var talk = Talk(FakeFile(blocks: (0..<60).map(StoredSound.block)))
    talk.linkLasts = 45
    #expect(talk.run() == nil)
    #expect(talk.kept.count == 40)
    talk.change { $0.blocks = (100..<190).map(StoredSound.block) }
    talk.again()
    #expect(talk.run() == .unreliable)
    #expect(talk.transfer.counters.replaced == 1)
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.restarts == [0, 0])
    #expect(talk.store.freed == 1)
    #expect(talk.kept == (0..<40).map(StoredSound.block) + (100..<190).map(StoredSound.block))
  }

  @Test("A status of another length ends the transfer") func aStatusThatNobodyKnows() {
    var transfer = FileTransfer(from: nil)
    #expect(transfer.handle(.start) == [.readSize])
    #expect(transfer.handle(.size([1, 2, 3])) == [.end(.unknown(3))])
  }
}

/// A transfer and a device, and what is kept between links; each notification can be lost, and the link, too.
private struct Talk<Store: FakeStore> {
  private(set) var store: Store
  private(set) var transfer: any StoreTransfer
  private(set) var kept: [[UInt8]] = []
  private(set) var restarts: [UInt64] = []
  private(set) var filled: [UInt64] = []
  private(set) var rests = 0
  private(set) var isCleared = false
  var loss: () -> Bool = { false }
  /// After so many notifications it is gone.
  var linkLasts = Int.max
  private var position: StoredPosition?
  /// How many were kept before the last restart.
  private var base = 0

  init(_ store: Store) {
    self.store = store
    transfer = store.format.transfer(from: nil)
  }

  mutating func change(_ body: (inout Store) -> Void) { body(&store) }

  /// A new link.
  mutating func again() {
    transfer = store.format.transfer(from: position)
    linkLasts = .max
  }

  /// - Returns: `nil` when the link ended before.
  mutating func run() -> TransferEnd? {
    var actions = transfer.handle(.start)[...]
    var arriving: [[UInt8]] = []
    while true {
      guard let action = actions.popFirst() else {
        guard !arriving.isEmpty else {
          actions += transfer.handle(.timedOut)
          continue
        }
        linkLasts -= 1
        if linkLasts < 0 { return nil }
        actions += transfer.handle(.notification(arriving.removeFirst()))
        continue
      }
      switch action {
      case .write(let command):
        let before = store.freed
        arriving += store.take(command).filter { _ in !loss() }
        // Nothing is freed that is not here.
        if store.format == .ring { #expect(store.freed == before || store.freed <= Int(position?.next ?? 0)) }
      case .readSize: actions += transfer.handle(.size(store.status))
      case .keep(let bytes):
        let length = store.format.recordLength
        kept += stride(from: 0, to: bytes.count, by: length).map { Array(bytes[$0..<($0 + length)]) }
        position?.next += UInt64(bytes.count / length)
        position?.tail = kept.last?.fnv1a
        actions += transfer.handle(.kept)
      case .restart(let next, let ring):
        restarts.append(next)
        position = StoredPosition(next: next, ring: ring)
        base = kept.count
      case .filled(let next): filled.append(next)
      case .discard(let next):
        kept.removeLast(kept.count - base - Int(next - (restarts.last ?? 0)))
        position = StoredPosition(next: next, tail: next == restarts.last ? nil : kept.last?.fnv1a)
      case .cleared:
        isCleared = true
        position = StoredPosition(next: 0)
      case .rest: rests += 1
      case .end(let end): return end
      }
    }
  }
}
