internal import AudioIngest
internal import Streams

/// The destinations of a recorder's events: subscribers receive all of them, and the sink receives finished segments.
struct RecorderOutput: Sendable {
  private let events = UpdateFeed<WearableRecorder.Event>()
  private let finished = BoundedStream.make(of: FinishedSegment.self, limit: 64, policy: .dropNewest)

  /// The finished segments, for the one task that passes them to the sink.
  var segments: BoundedStream<FinishedSegment> { finished.stream }

  /// Returns a stream of the events from now on.
  func subscribe(limit: Int) -> BoundedStream<WearableRecorder.Event> {
    events.updates(limit: limit, beginsWithNewest: false)
  }

  /// Publishes an event to the subscribers.
  func publish(_ event: WearableRecorder.Event) { events.publish(event) }

  /// Delivers a finished segment to the sink, and publishes it to the subscribers.
  func deliver(_ segment: FinishedSegment) {
    finished.source.yield(segment)
    publish(.recording(.finished(segment)))
  }

  /// Ends the stream of segments, once no more will be finished.
  func endSegments() { finished.source.finish() }

  /// Ends the subscribers' streams.
  func endEvents() { events.end() }
}
