// Prints the changes of the network until it is available: for a script that has to wait for it.
//
//     WayOut && rsync …
import NetworkPath
import NetworkPathNetworkManager

var options = NetworkPathMonitor.Options()
options.meteredSource = NetworkManagerMeteredSource()

let monitor = try await NetworkPathMonitor.start(options)
for await update in monitor.updates() {
  for change in update.changes { print(change) }
  if update.path.status == .satisfied { break }
  if let reason = update.path.unsatisfiedReason { print("waiting:", reason) }
}

let path = monitor.path
if let interface = path.preferredInterface {
  print("Online through", interface.name, path.isExpensive ? "(traffic may cost money)" : "")
}
