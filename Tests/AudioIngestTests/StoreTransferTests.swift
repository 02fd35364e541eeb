import DeterministicTesting
import Testing

@testable import AudioIngest

@Suite(.computing) struct StoreTransferTests {
  // MARK: A ring

  @Test func aRingIsFetchedAPieceAtATimeAndFreed() {
    var talk = Talk(FakeRing(records: (0..<200).map { StoredSound.record($0) }, read: 10))
    #expect(talk.run() == .complete)
    #expect(talk.kept == (10..<200).map { StoredSound.record($0) } && talk.restarts == [10])
    #expect(talk.store.freed == 200 && talk.rests == 2 && talk.transfer.counters.records == 190)
    #expect(talk.transfer.remaining == 0)
    // The next time there is nothing, and then there is more.
    talk.again()
    #expect(talk.run() == .complete && talk.restarts == [10])
    talk.change { $0.records += (200..<230).map { StoredSound.record($0) } }
    talk.again()
    #expect(talk.run() == .complete)
    #expect(talk.kept == (10..<230).map { StoredSound.record($0) } && talk.restarts == [10])
  }

  @Test func anEmptyStoreIsLeftAlone() {
    var ring = Talk(FakeRing())
    #expect(ring.run() == .complete && ring.restarts.isEmpty && ring.kept.isEmpty)
    var file = Talk(FakeFile())
    #expect(file.run() == .complete && file.restarts.isEmpty && file.store.freed == 0)
  }

  /// The device was not told that a piece is here: it still has it, and it is known again.
  @Test func whatIsHereAlreadyIsNotKeptTwice() {
    var talk = Talk(FakeRing(records: (0..<100).map { StoredSound.record($0) }))
    _ = talk.run()
    talk.change { $0.read = 0 }
    talk.again()
    #expect(talk.run() == .complete && talk.kept.count == 100 && talk.store.freed == 100)
    #expect(talk.restarts == [0] && talk.transfer.counters.replaced == 0)
  }

  @Test func anotherRingBeginsAnew() {
    let records = (0..<100).map { StoredSound.record($0) }
    var talk = Talk(FakeRing(records: records, ring: 1))
    _ = talk.run()
    // Formatted: as many records as before, and a few that are not freed.
    talk.change { $0 = FakeRing(records: (500..<600).map { StoredSound.record($0) }, read: 90, ring: 2) }
    talk.again()
    #expect(talk.run() == .complete && talk.restarts == [0, 90] && talk.transfer.counters.replaced == 1)
    // One that does not say which it is.
    talk.change { $0 = FakeRing(records: (700..<850).map { StoredSound.record($0) }, read: 50) }
    talk.again()
    #expect(talk.run() == .complete && talk.restarts == [0, 90, 50])
    #expect(
      talk.kept == records + (590..<600).map { StoredSound.record($0) } + (750..<850).map { StoredSound.record($0) })
  }

  @Test func whatTheDeviceHasOverwrittenIsCounted() {
    var talk = Talk(FakeRing(records: (0..<50).map { StoredSound.record($0) }))
    _ = talk.run()
    talk.change {
      $0.records += (50..<200).map { StoredSound.record($0) }
      $0.read = 120
    }
    talk.again()
    #expect(talk.run() == .complete && talk.restarts == [0, 120])
    #expect(talk.transfer.counters.overwritten == 70)
  }

  /// Any notification may be lost: a piece comes whole or is asked for again, and nothing is freed that is not here.
  @Test(arguments: [1, 3]) func whatIsLostIsAskedForAgain(_ percent: Int) {
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
      #expect(talk.store.freed == count && links < 200, "seed \(seed)")
    }
  }

  @Test func aRingThatRefuses() {
    var talk = Talk(FakeRing(records: [StoredSound.record(0)], refusal: 9))
    #expect(talk.run() == .refused(9) && talk.kept.isEmpty)
    var odd = RingTransfer(from: nil)
    _ = odd.begin()
    let info = [2] + UInt64(0).bigEndianBytes + UInt64(1).bigEndianBytes + [UInt8](repeating: 0, count: 12)
    #expect(odd.take(info + UInt16(512).bigEndianBytes) == [.end(.unknown(512))])
  }

  @Test func aDeviceThatSaysNothingIsGivenUp() {
    for format in StoredFormat.allCases {
      var transfer = format.transfer(from: nil)
      var actions = transfer.begin()
      for _ in 0..<RingTransfer.attempts where actions.last != .end(.unanswered) { actions = transfer.timedOut() }
      #expect(actions.last == .end(.unanswered))
    }
  }

  // MARK: A file

  @Test func aFileIsFetchedToItsEndAndDeleted() {
    var talk = Talk(FakeFile(blocks: (0..<123).map(StoredSound.block)))
    #expect(talk.run() == .complete && talk.kept == (0..<123).map(StoredSound.block))
    #expect(talk.store.freed == 1 && talk.isCleared && talk.filled == [123] && talk.transfer.counters.records == 123)
    #expect(talk.transfer.remaining == 0)
    // Two heartbeats, and the answers to them.
    #expect(talk.transfer.counters.malformed == 0)
  }

  /// A link that ends in between, as often as it likes.
  @Test func aFileGoesOnWhereItWasLeft() {
    for seed in 0..<UInt64(Sanitizer.rounds(20)) {
      var random = SeededGenerator(seed: seed)
      let blocks = (0..<Int.random(in: 1..<150, using: &random)).map(StoredSound.block)
      var talk = Talk(FakeFile(blocks: blocks))
      var (links, end) = (0, TransferEnd?.none)
      while end != .complete, links < 100 {
        if links > 0 { talk.again() }
        talk.linkLasts = Int.random(in: 5..<60, using: &random)
        end = talk.run()
        links += 1
      }
      #expect(talk.kept == blocks && Set(talk.restarts) == [0] && talk.store.freed == 1, "seed \(seed), \(links) links")
    }
  }

  /// A block that is lost shows at the end: the file stays, and what came is forgotten.
  @Test func aFileWithALossIsReadAgain() {
    let blocks = (0..<60).map(StoredSound.block)
    var talk = Talk(FakeFile(blocks: blocks))
    var sent = 0
    talk.loss = {
      sent += 1
      return sent == 30
    }
    #expect(talk.run() == .unreliable && talk.store.freed == 0 && talk.kept.isEmpty)
    talk.again()
    #expect(talk.run() == .complete && talk.kept == blocks && talk.store.freed == 1)
  }

  /// The file of the last time was deleted by somebody else, and another one has grown.
  @Test func anotherFileBeginsAnew() {
    var talk = Talk(FakeFile(blocks: (0..<60).map(StoredSound.block)))
    talk.linkLasts = 45
    #expect(talk.run() == nil && talk.kept.count == 40)
    talk.change { $0.blocks = (100..<190).map(StoredSound.block) }
    talk.again()
    #expect(talk.run() == .unreliable && talk.transfer.counters.replaced == 1)
    talk.again()
    #expect(talk.run() == .complete && talk.restarts == [0, 0] && talk.store.freed == 1)
    #expect(talk.kept == (0..<40).map(StoredSound.block) + (100..<190).map(StoredSound.block))
  }

  @Test func aStatusThatNobodyKnows() {
    var transfer = FileTransfer(from: nil)
    #expect(transfer.begin() == [.readSize] && transfer.take(size: [1, 2, 3]) == [.end(.unknown(3))])
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
    var actions = transfer.begin()[...]
    var arriving: [[UInt8]] = []
    while true {
      guard let action = actions.popFirst() else {
        guard !arriving.isEmpty else {
          actions += transfer.timedOut()
          continue
        }
        linkLasts -= 1
        if linkLasts < 0 { return nil }
        actions += transfer.take(arriving.removeFirst())
        continue
      }
      switch action {
      case .write(let command):
        let before = store.freed
        arriving += store.take(command).filter { _ in !loss() }
        // Nothing is freed that is not here.
        if store.format == .ring { #expect(store.freed == before || store.freed <= Int(position?.next ?? 0)) }
      case .readSize: actions += transfer.take(size: store.status)
      case .keep(let bytes):
        let length = store.format.recordLength
        kept += stride(from: 0, to: bytes.count, by: length).map { Array(bytes[$0..<($0 + length)]) }
        position?.next += UInt64(bytes.count / length)
        position?.tail = kept.last?.fnv1a
        actions += transfer.kept()
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
