import Testing

@testable import EdgeCoder

@Suite("Chunks of a reply") struct ChunkerTests {
  @Test(
    "A notification fits the MTU",
    arguments: [(nil, 20), (0, 20), (23, 20), (185, 182), (247, 244), (512, 509), (515, 512), (517, 512), (65535, 512)]
      as [(Int?, Int)])
  func aNotificationFitsTheMTU(mtu: Int?, size: Int) {
    #expect(Chunker.notificationSize(mtu: mtu) == size)
  }

  @Test(
    "A request piece arrives at old phones",
    arguments: [(nil, 20), (23, 20), (185, 182), (510, 507), (511, 508), (512, 508), (517, 508)] as [(Int?, Int)])
  func aRequestPieceArrivesAtOldPhones(mtu: Int?, size: Int) {
    #expect(Chunker.requestSize(mtu: mtu) == size)
  }

  @Test("The pieces make the message", arguments: [0, 1, 511, 512, 513, 1024, 1025]) func thePiecesMakeTheMessage(
    length: Int
  ) {
    let message = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    let chunks = Chunker.chunks(of: message, size: 512)
    #expect(Array(chunks.joined()) == message)
    #expect(chunks.count == (length + 511) / 512)
    #expect(chunks.allSatisfy { !$0.isEmpty })
    #expect(chunks.allSatisfy { $0.count <= 512 })
  }
}

@Suite("The pace of chunks") struct PacerTests {
  /// The instants at which chunks go out when the sender wakes `lateness` after each is due.
  private func instants(_ chunks: [Bool], interval: Duration = .milliseconds(10), lateness: [Duration] = [.zero])
    -> [Duration]
  {
    var pacer = Pacer(interval: interval)
    var now = Duration.zero
    return chunks.enumerated().map { index, whole in
      let due = pacer.earliest(whole: whole, at: now)
      if due > now { now = due + lateness[index % lateness.count] }
      pacer.didSend(whole: whole, at: now)
      return now
    }
  }

  @Test("The chunks of a reply are 10 ms apart") func chunksOfAReplyAreTenMillisecondsApart() {
    #expect(instants([false, false, false, false]) == [0, 10, 20, 30].map { .milliseconds($0) })
  }

  @Test("Short replies are not delayed") func shortRepliesAreNotHeldUp() {
    #expect(instants([true, true, true]) == [.zero, .zero, .zero])
  }

  @Test("A long reply keeps its distance from its neighbours") func aLongReplyKeepsItsDistanceFromItsNeighbours() {
    #expect(instants([true, false, false, true, true]) == [0, 10, 20, 30, 30].map { .milliseconds($0) })
  }

  @Test("An interval that has passed is not waited for") func aPauseThatPassedByItselfIsNotWaitedFor() {
    var pacer = Pacer()
    pacer.didSend(whole: false, at: .milliseconds(5))
    #expect(pacer.earliest(whole: false, at: .milliseconds(6)) == .milliseconds(15))
    #expect(pacer.earliest(whole: false, at: .milliseconds(40)) == .milliseconds(40))
  }

  @Test("A late chunk is caught up on average") func latenessIsMadeUpForOnAverage() {
    let times = instants(Array(repeating: false, count: 101), lateness: [.milliseconds(3)])
    #expect(times[100] == .milliseconds(1003))
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .milliseconds(5) })
  }

  @Test("A late chunk is followed after half the pause at the soonest")
  func aLateChunkIsFollowedAfterHalfThePauseAtTheSoonest() {
    var pacer = Pacer()
    pacer.didSend(whole: false, at: .zero)
    pacer.didSend(whole: false, at: .milliseconds(18))
    #expect(pacer.earliest(whole: false, at: .milliseconds(18)) == .milliseconds(23))
  }

  @Test("A long delay is not followed by a burst") func aLongDelayIsNotFollowedByABurst() {
    var pacer = Pacer()
    pacer.didSend(whole: false, at: .zero)
    pacer.didSend(whole: false, at: .milliseconds(200))
    #expect(pacer.earliest(whole: false, at: .milliseconds(200)) == .milliseconds(210))
  }

  @Test("Without an interval there is no delay") func noIntervalMeansNoPause() {
    #expect(instants([false, false, false], interval: .zero) == [.zero, .zero, .zero])
    #expect(instants([false, false], interval: .milliseconds(-5)) == [.zero, .zero])
  }
}
