import Streams
import Testing

@Suite("Update feeds", .timeLimit(.minutes(5))) struct UpdateFeedTests {
  @Test("A later subscriber begins with the newest element") func whoComesLaterBeginsWithTheNewest() async {
    let feed = UpdateFeed<Int>()
    #expect(feed.newest == nil)
    let early = feed.updates(limit: 8)
    feed.publish(1)
    feed.publish(2)
    let late = feed.updates(limit: 8)
    let fromNowOn = feed.updates(limit: 8, beginsWithNewest: false)
    feed.publish(3)
    // Known from now on, and no news to those who read.
    feed.publish(4, isDelivered: false)
    #expect(feed.newest == 4)
    feed.end()
    #expect(await Self.all(early) == [1, 2, 3])
    #expect(await Self.all(late) == [2, 3])
    #expect(await Self.all(fromNowOn) == [3])
    #expect(await Self.all(feed.updates(limit: 8)) == [4])
  }

  @Test("A slow subscriber loses the oldest elements and delays no other")
  func aSlowReaderLosesTheOldestAndHoldsNobodyUp() async {
    let feed = UpdateFeed(0)
    let slow = feed.updates(limit: 2)
    let gone = feed.updates(limit: 2)
    for await _ in gone { break }
    for number in 1...5 { feed.publish(number) }
    feed.end()
    #expect(slow.dropped == 4)
    #expect(await Self.all(slow) == [4, 5])
  }

  @Test("A reader of a part gets the newest update, and those that change the part")
  func aReaderOfAPart() async {
    let feed = UpdateFeed(10)
    let tens = feed.updates(limit: 8) { $0 / 10 }
    for number in [11, 19, 20, 21, 15, 9] { feed.publish(number) }
    feed.end()
    #expect(await Self.all(tens) == [10, 20, 15, 9])
    // Nothing is dropped that was not wanted.
    #expect(tens.dropped == 0)
  }

  private static func all(_ stream: BoundedStream<Int>) async -> [Int] {
    var numbers: [Int] = []
    for await number in stream { numbers.append(number) }
    return numbers
  }
}
