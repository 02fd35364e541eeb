import MessageSending
import Streams
import SystemState

extension MessageSender {
  /// Sends until the task is cancelled. Before the machine sleeps and after it, the sender does what it does at its stop
  /// and its start.
  /// - Parameters:
  ///   - phases: The phases of the machine, until the task is cancelled.
  ///   - activity: The inhibitor that delays sleep until the sender has stopped.
  func run(following phases: BoundedStream<LifecycleUpdate>, delayingSleep activity: BackgroundActivity) async {
    var awake: (work: Task<Void, Never>, use: BackgroundActivity.Use)? = begin(activity)
    for await update in phases where (update.snapshot.phase == .suspending) == (awake != nil) {
      if let (work, use) = awake {
        awake = nil
        await end(work)
        use.end()
      } else {
        awake = begin(activity)
      }
    }
    if let awake { await end(awake.work) }
  }

  private nonisolated func begin(
    _ activity: BackgroundActivity
  ) -> (work: Task<Void, Never>, use: BackgroundActivity.Use) {
    (Task { await run() }, activity.begin())
  }

  private func end(_ work: Task<Void, Never>) async {
    work.cancel()
    await work.value
  }
}
