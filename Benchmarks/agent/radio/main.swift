import BlueZTesting
import Dispatch
import Glibc

// A bluetoothd without a radio, for programs that are measured: prints its bus and stays until SIGTERM. It has as many
// adapters as it is told to, one by itself.

signal(SIGTERM, SIG_IGN)
let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
let (ends, source) = AsyncStream<Never>.makeStream()
termination.setEventHandler { @Sendable in source.finish() }
termination.resume()

let bluez = try await FakeBlueZ.start(adapters: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1)
guard case .address(let address) = bluez.bus else { fatalError("a fake is on a bus of its own") }
print(address)
// A pipe is not a terminal, where a line goes out at once.
fflush(nil)
for await _ in ends {}
// The daemon of the bus ends with the program, unless a signal ends that.
try await bluez.stop()
