// swift-tools-version:6.2
import PackageDescription

// The Swift halves of the benchmarks. A package of their own, so that users of EdgeBlue never resolve or build them.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "EdgeBlue", path: "..")],
  targets: [
    .executableTarget(
      name: "agent-radio",
      dependencies: [.product(name: "BlueZTesting", package: "EdgeBlue")],
      path: "agent/radio",
      swiftSettings: settings),
    .executableTarget(
      name: "audio-bench",
      dependencies: [.product(name: "AudioIngest", package: "EdgeBlue")],
      path: "audio/bench",
      swiftSettings: settings),
    .executableTarget(
      name: "dbus-client",
      dependencies: [.product(name: "DBus", package: "EdgeBlue")],
      path: "dbus/client",
      swiftSettings: settings),
    .executableTarget(
      name: "discovery-bench",
      dependencies: [
        .product(name: "BlueZ", package: "EdgeBlue"), .product(name: "BlueZTesting", package: "EdgeBlue"),
        .product(name: "Streams", package: "EdgeBlue"), .product(name: "SystemTesting", package: "EdgeBlue"),
      ],
      path: "discovery/bench",
      swiftSettings: settings),
    .executableTarget(
      name: "path-watch",
      dependencies: [.product(name: "NetworkPath", package: "EdgeBlue")],
      path: "path/watch",
      swiftSettings: settings),
    .executableTarget(
      name: "radio-bench",
      dependencies: [
        .product(name: "BlueZ", package: "EdgeBlue"), .product(name: "EdgeCoder", package: "EdgeBlue"),
        .product(name: "Streams", package: "EdgeBlue"),
      ],
      path: "radio/edgeblue",
      swiftSettings: settings),
    .executableTarget(
      name: "scanner-bench",
      dependencies: [.product(name: "EdgeCoder", package: "EdgeBlue")],
      path: "scanner/bench",
      swiftSettings: settings),
    .executableTarget(
      name: "uploads-queue",
      dependencies: [.product(name: "Uploads", package: "EdgeBlue")],
      path: "uploads/queue",
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6])
