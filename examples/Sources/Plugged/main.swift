// Waits until the machine is on external power, for work that should not use the battery.
//
//     Plugged && make
import Glibc
import SystemState

do {
  let monitor = try await PowerMonitor.start()
  for await update in monitor.updates() {
    for change in update.changes { print(change) }
    if update.snapshot.telemetry.onExternalPower { break }
  }
  print("On external power:", monitor.snapshot.externalPower)
} catch {
  print(error)
  exit(1)
}
