// swift-tools-version:6.1
import PackageDescription

// Small programs to copy from. A package of their own, so that EdgeBlue's users never build them.
let package = Package(
  name: "Examples",
  // A dependency by a path has all traits by default; one by a URL does not.
  dependencies: [.package(name: "EdgeBlue", path: "..", traits: [])],
  targets: [
    example("Beacon", ["BlueZ", "BlueZProfiles"]),
    example("Bedtime", ["SystemState"]),
    example("Bond", ["BlueZ"]),
    example("Dimmer", ["BlueZ"]),
    example("Echo", ["BlueZ"]),
    example("Explorer", ["BlueZ"]),
    example("Greeter", ["DBus"]),
    example("HeartRate", ["BlueZ"]),
    example("HeartRateMonitor", ["CoreBluetooth"]),
    example("Lamp", ["BlueZ", "Streams"]),
    example("Nearby", ["BlueZ"]),
    example("Phone", ["BlueZ", "EdgeCoder"]),
    example("Plugged", ["SystemState"]),
    example("PulseReader", ["BlueZ", "BlueZProfiles"]),
    example("Tidy", ["BackgroundTasks", "SystemState"]),
    example("UARTBridge", ["BlueZ"]),
    example("WayOut", ["NetworkPath", "NetworkPathNetworkManager"]),
  ],
  swiftLanguageModes: [.v6])

func example(_ name: String, _ libraries: [String]) -> Target {
  .executableTarget(name: name, dependencies: libraries.map { .product(name: $0, package: "EdgeBlue") })
}
