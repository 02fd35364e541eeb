// A monitor for heart-rate sensors, on macOS and on Linux from the same two files.
import CoreBluetooth

let monitor = HeartRateMonitor()

// Asked to end, it ends its connection: on Linux that would outlive the program.
let ends = [SIGINT, SIGTERM].map { number in
  signal(number, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
  source.setEventHandler { monitor.end() }
  source.resume()
  return source
}
withExtendedLifetime(ends) { dispatchMain() }
