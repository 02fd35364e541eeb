// Prints network changes until there is a default route, for scripts that wait for a network.
//
//     WayOut && rsync …
import Glibc
import NetworkPath
import NetworkPathNetworkManager

var options = NetworkPathMonitor.Options()
options.meteredSource = NetworkManagerMeteredSource()

do {
  let monitor = try await NetworkPathMonitor.start(options)
  for await update in monitor.updates() {
    for change in update.changes { print(change) }
    if update.path.status == .satisfied { break }
    if let reason = update.path.unsatisfiedReason { print("waiting:", reason) }
  }

  let path = monitor.path
  if let interface = path.preferredInterface {
    print("The default route uses", interface.name, path.isExpensive ? "(metered)" : "")
  }
} catch {
  print(error)
  exit(1)
}
