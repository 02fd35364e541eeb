import BlueZTesting
import Glibc

// A bluetoothd without a radio, for a program that is measured: prints its bus and stays until it is ended.
let bluez = try await FakeBlueZ.start(adapters: 1)
guard case .address(let address) = bluez.bus else { fatalError("a fake is on a bus of its own") }
print(address)
// A pipe is not a terminal, where a line goes out at once.
fflush(nil)
try await Task.sleep(for: .seconds(86_400))
withExtendedLifetime(bluez) {}
