// Works until system sleep is imminent, and then saves; the system waits until it has saved.
//
//     Bedtime
import Glibc
import SystemState

do {
  let activity = BackgroundActivity()
  let work = activity.begin()
  let lifecycle = try await LifecycleMonitor.start()
  for await update in lifecycle.updates() where update.snapshot.phase == .suspending {
    print("Saving:", update.snapshot.reason)
    work.end()
    break
  }
} catch {
  print(error)
  exit(1)
}
