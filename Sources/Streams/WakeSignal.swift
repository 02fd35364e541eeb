/// A signal that makes one loop look again: any number of signals while the loop is busy count as one.
///
/// ```swift
/// let wake = WakeSignal()
/// Task { for await _ in wake.signals { print("look again") } }
/// wake.signal()
/// ```
package struct WakeSignal: Sendable {
  private let stream: BoundedStream<Void>
  private let source: BoundedStream<Void>.Source

  /// Creates a signal that nobody has raised yet.
  package init() { (stream, source) = BoundedStream.make(of: Void.self, limit: 1) }

  /// Raises the signal; never waits.
  package func signal() { source.yield(()) }

  /// The raised signals, for the one loop; the sequence ends when the loop's task is cancelled or after ``finish()``.
  package var signals: BoundedStream<Void> { stream }

  /// Ends ``signals``.
  package func finish() { source.finish() }
}
