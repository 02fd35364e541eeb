// Works until the machine is about to sleep, and saves then; the machine waits for that.
//
//     Bedtime
import SystemState

let activity = BackgroundActivity()
let work = activity.begin()
let lifecycle = try await LifecycleMonitor.start()
for await update in lifecycle.updates() where update.snapshot.phase == .suspending {
  print("Saving:", update.snapshot.reason)
  work.end()
  break
}
