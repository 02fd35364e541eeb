// swift-tools-version:6.1
import PackageDescription

// Small programs to copy from. A package of their own, so that EdgeBlue's users never build them.
let package = Package(
  name: "Examples",
  dependencies: [.package(name: "EdgeBlue", path: "..")],
  targets: [
    .executableTarget(name: "HeartRate", dependencies: [.product(name: "BlueZ", package: "EdgeBlue")]),
    .executableTarget(name: "Nearby", dependencies: [.product(name: "BlueZ", package: "EdgeBlue")]),
    .executableTarget(name: "UARTBridge", dependencies: [.product(name: "BlueZ", package: "EdgeBlue")]),
  ],
  swiftLanguageModes: [.v6])
