// swift-tools-version:6.2
import PackageDescription

// A warning is an error. `EDGEBLUE_ALLOW_WARNINGS=1` is for who builds with a newer compiler than ours.
let allowWarnings = Context.environment["EDGEBLUE_ALLOW_WARNINGS"] != nil

// `EDGEBLUE_FUZZ` adds the fuzz targets of Tests/Fuzz, which scripts/fuzz alone builds; it is the path of libFuzzer, or
// `random` where there is none.
let fuzzer = Context.environment["EDGEBLUE_FUZZ"]
let hasLibFuzzer = fuzzer?.hasPrefix("/") == true

let settings: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ] + (allowWarnings ? [] : [.treatAllWarnings(as: .error)])
  + (hasLibFuzzer ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])

let log: Target.Dependency = .product(name: "Logging", package: "swift-log")

// What needs more packages than swift-log has the trait `Full`. It is on where this package is built itself, and off for
// its users, whose `.package(url:from:)` then resolves swift-log alone. SwiftPM has the sources of a dependency in a
// folder `checkouts`, and reads the manifest of a version as the file /Package.swift.
let place = Context.packageDirectory.split(separator: "/")
let isDependency = place.isEmpty || place.dropLast().last == "checkouts"

/// A product of another package than swift-log.
func full(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: ["Full"]))
}

let http: [Target.Dependency] = [
  full("Hummingbird", "hummingbird"),
  full("HummingbirdCore", "hummingbird"),
  full("AsyncHTTPClient", "async-http-client"),
  full("NIOCore", "swift-nio"),
  full("NIOConcurrencyHelpers", "swift-nio"),
  full("NIOHTTP1", "swift-nio"),
  full("HTTPTypes", "swift-http-types"),
  full("ServiceLifecycle", "swift-service-lifecycle"),
]

var products: [Product] = [
  .library(name: "ErrorReporting", targets: ["ErrorReporting"]),
  .library(name: "JSONValues", targets: ["JSONValues"]),
  .library(name: "Places", targets: ["Places"]),
  .library(name: "Streams", targets: ["Streams"]),
  .library(name: "Timing", targets: ["Timing"]),
  .library(name: "DurableFiles", targets: ["DurableFiles"]),
  .library(name: "DeterministicTesting", targets: ["DeterministicTesting"]),
  .library(name: "SystemTesting", targets: ["SystemTesting"]),
  .library(name: "Btsnoop", targets: ["Btsnoop"]),
  .library(name: "DBus", targets: ["DBus"]),
  .library(name: "DBusTesting", targets: ["DBusTesting"]),
  .library(name: "BlueZ", targets: ["BlueZ"]),
  .library(name: "BlueZProfiles", targets: ["BlueZProfiles"]),
  .library(name: "BlueZTesting", targets: ["BlueZTesting"]),
  .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
  .library(name: "NetworkPath", targets: ["NetworkPath"]),
  .library(name: "NetworkPathNetworkManager", targets: ["NetworkPathNetworkManager"]),
  .library(name: "SystemState", targets: ["SystemState"]),
  .library(name: "BackgroundTasks", targets: ["BackgroundTasks"]),
  .library(name: "Agent", targets: ["Agent"]),
  .library(name: "EdgeCoder", targets: ["EdgeCoder"]),
  .library(name: "EdgeCoderTesting", targets: ["EdgeCoderTesting"]),
  .library(name: "AudioIngest", targets: ["AudioIngest"]),
  .library(name: "AudioWearables", targets: ["AudioWearables"]),
  .library(name: "AudioIngestTesting", targets: ["AudioIngestTesting"]),
  .library(name: "Uploads", targets: ["Uploads"]),
  .library(name: "UploadsTesting", targets: ["UploadsTesting"]),
  .library(name: "MessageSending", targets: ["MessageSending"]),
  .library(name: "SpeedTest", targets: ["SpeedTest"]),
  .library(name: "Coverage", targets: ["Coverage"]),
  .library(name: "OutgoingHTTP", targets: ["OutgoingHTTP"]),
  .library(name: "AgentHTTP", targets: ["AgentHTTP"]),
  .library(name: "EdgeCoderHTTP", targets: ["EdgeCoderHTTP"]),
  .library(name: "IncomingHTTP", targets: ["IncomingHTTP"]),
  .library(name: "UploadsHTTP", targets: ["UploadsHTTP"]),
  .library(name: "MessageSendingHTTP", targets: ["MessageSendingHTTP"]),
  .library(name: "SpeedTestNIO", targets: ["SpeedTestNIO"]),
  .library(name: "CoverageHTTP", targets: ["CoverageHTTP"]),
  .executable(name: "edgeblue", targets: ["edgeblue"]),
]

var dependencies: [Package.Dependency] = [
  .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
  .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  .package(url: "https://github.com/groue/GRDB.swift", from: "7.0.0"),
  .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
  .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
  .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
  .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
  // No traits: SwiftPM passes several to the compiler in an order that changes, and each build compiles it once more.
  .package(
    url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0", traits: []),
  .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
  .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
]

var targets: [Target] = [
  .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
  .systemLibrary(name: "CFLAC", pkgConfig: "flac", providers: [.apt(["libflac-dev"])]),
  .systemLibrary(name: "CLinux"),
  .systemLibrary(name: "CNetlink"),
  .systemLibrary(name: "COpus", pkgConfig: "opus", providers: [.apt(["libopus-dev"])]),
  .systemLibrary(name: "COpusEnc", pkgConfig: "libopusenc", providers: [.apt(["libopusenc-dev"])]),
  .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
  .systemLibrary(name: "CSoxr", pkgConfig: "soxr", providers: [.apt(["libsoxr-dev"])]),
  .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
  .target(name: "ErrorReporting", swiftSettings: settings),
  .target(name: "JSONValues", swiftSettings: settings),
  .testTarget(name: "JSONValuesTests", dependencies: ["JSONValues"], swiftSettings: settings),
  .target(name: "Places", swiftSettings: settings),
  .testTarget(name: "PlacesTests", dependencies: ["Places"], swiftSettings: settings),
  .target(name: "Streams", dependencies: ["CLinux", "ErrorReporting"], swiftSettings: settings),
  .target(name: "Timing", dependencies: ["CLinux", "Streams"], swiftSettings: settings),
  .target(name: "DurableFiles", dependencies: ["CLinux", "ErrorReporting", "Streams"], swiftSettings: settings),
  .target(
    name: "SQLiteFiles", dependencies: ["ErrorReporting", "Timing", "DurableFiles", full("GRDB", "GRDB.swift")],
    swiftSettings: settings),
  .target(name: "DeterministicTesting", dependencies: ["Streams"], swiftSettings: settings),
  .target(name: "SystemTesting", dependencies: ["Streams", "Timing"], swiftSettings: settings),
  .target(name: "Btsnoop", dependencies: ["ErrorReporting", "Streams"], swiftSettings: settings),
  .target(name: "DBus", dependencies: ["ErrorReporting", "CDBus", "Streams", "Timing", log], swiftSettings: settings),
  .target(name: "DBusTesting", dependencies: ["Streams", "Timing", "SystemTesting", "DBus"], swiftSettings: settings),
  .target(name: "BlueZ", dependencies: ["ErrorReporting", "Streams", "Timing", "DBus", log], swiftSettings: settings),
  .target(name: "BlueZProfiles", dependencies: ["ErrorReporting"], swiftSettings: settings),
  .target(
    name: "BlueZTesting", dependencies: ["Streams", "Timing", "BlueZ", "Btsnoop", "DBus", "DBusTesting", log],
    swiftSettings: settings),
  .target(name: "CoreBluetooth", dependencies: ["Streams", "BlueZ", log], swiftSettings: settings),
  .testTarget(name: "StreamsTests", dependencies: ["DeterministicTesting", "Streams"], swiftSettings: settings),
  .testTarget(
    name: "BtsnoopTests", dependencies: ["Streams", "DeterministicTesting", "SystemTesting", "Btsnoop"],
    exclude: ["Recordings"],
    swiftSettings: settings),
  .testTarget(name: "TimingTests", dependencies: ["DeterministicTesting", "Timing"], swiftSettings: settings),
  .testTarget(name: "DurableFilesTests", dependencies: ["DurableFiles"], swiftSettings: settings),
  .testTarget(
    name: "DBusTests",
    dependencies: ["Streams", "DeterministicTesting", "SystemTesting", "DBus", "DBusTesting"],
    exclude: ["Peers"], swiftSettings: settings),
  .target(
    name: "NetworkPath", dependencies: ["ErrorReporting", "Streams", "Timing", "DurableFiles", "CNetlink", log],
    swiftSettings: settings),
  .target(
    name: "NetworkPathNetworkManager", dependencies: ["Streams", "Timing", "DBus", "NetworkPath"],
    swiftSettings: settings),
  .target(
    name: "SystemState",
    dependencies: ["ErrorReporting", "Places", "Streams", "Timing", "DurableFiles", "CLinux", "DBus", log],
    swiftSettings: settings),
  .target(
    name: "BackgroundTasks", dependencies: ["ErrorReporting", "Streams", "Timing", "DurableFiles", log],
    swiftSettings: settings),
  .target(
    name: "Agent",
    dependencies: [
      "ErrorReporting", "Streams", "Timing", "DurableFiles", "BackgroundTasks", "DBus", "NetworkPath", "SystemState",
      log,
    ],
    swiftSettings: settings),
  .target(
    name: "EdgeCoder",
    dependencies: ["ErrorReporting", "JSONValues", "Streams", "Timing", "DurableFiles", "BlueZ", "CZlib", log],
    swiftSettings: settings),
  .target(
    name: "EdgeCoderTesting",
    dependencies: ["Streams", "Timing", "SystemTesting", "BlueZ", "BlueZTesting", "EdgeCoder", log],
    swiftSettings: settings),
  .target(
    name: "AudioIngest",
    dependencies: [
      "ErrorReporting", "Streams", "Timing", "DurableFiles", "CFLAC", "COpus", "COpusEnc", "CSoxr",
      full("Crypto", "swift-crypto"),
    ],
    swiftSettings: settings),
  .target(
    name: "AudioWearables", dependencies: ["Streams", "Timing", "AudioIngest", "BlueZ"],
    swiftSettings: settings),
  .target(
    name: "AudioIngestTesting",
    dependencies: [
      "Streams", "Timing", "DurableFiles", "SystemTesting", "AudioIngest", "AudioWearables", "BlueZ", "BlueZTesting",
      "COpus",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "AudioIngestTests",
    dependencies: [
      "Streams", "Timing", "DurableFiles", "DeterministicTesting", "SystemTesting", "AudioIngest",
      "AudioIngestTesting",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "AudioWearablesTests",
    dependencies: [
      "Streams", "Timing", "DeterministicTesting", "SystemTesting", "AudioIngest",
      "AudioIngestTesting", "AudioWearables", "BlueZ", "BlueZTesting", "Btsnoop",
    ],
    swiftSettings: settings),
  .target(
    name: "Uploads",
    dependencies: [
      "ErrorReporting", "Streams", "Timing", "DurableFiles", "SQLiteFiles", log,
      full("Crypto", "swift-crypto"),
      full("GRDB", "GRDB.swift"),
    ],
    swiftSettings: settings),
  .target(
    name: "UploadsTesting", dependencies: ["Streams", "Timing", "DeterministicTesting", "Uploads"],
    swiftSettings: settings),
  .testTarget(
    name: "UploadsTests",
    dependencies: [
      "Streams", "Timing", "DeterministicTesting", "SystemTesting", "Uploads", "UploadsTesting",
      full("GRDB", "GRDB.swift"),
    ],
    swiftSettings: settings),
  .target(
    name: "MessageSending",
    dependencies: ["ErrorReporting", "Streams", "Timing", "DurableFiles", "CLinux", "CSodium", "CZlib", log],
    swiftSettings: settings),
  .testTarget(
    name: "MessageSendingTests",
    dependencies: [
      "Streams", "Timing", "DurableFiles", "DeterministicTesting", "SystemTesting", "MessageSending", log,
    ],
    exclude: ["Peers"], swiftSettings: settings),
  // What uses a queue of messages beside the tests, and is killed at it.
  .executableTarget(
    name: "message-queue-process", dependencies: ["MessageSending"], path: "Tests/MessageQueueProcess",
    swiftSettings: settings),
  .target(
    name: "SpeedTest",
    dependencies: [
      "ErrorReporting", "JSONValues", "Places", "Streams", "Timing", "DurableFiles", full("Crypto", "swift-crypto"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "SpeedTestTests",
    dependencies: [
      "JSONValues", "Places", "Streams", "DurableFiles", "DeterministicTesting", "SystemTesting", "SpeedTest",
    ],
    swiftSettings: settings),
  .target(
    name: "Coverage",
    dependencies: [
      "ErrorReporting", "JSONValues", "Places", "Streams", "Timing", "DurableFiles", "SQLiteFiles", log,
      full("GRDB", "GRDB.swift"),
    ],
    swiftSettings: settings),
  .executableTarget(
    name: "coverage-process", dependencies: ["JSONValues", "Streams", "Timing", "Coverage"],
    path: "Tests/CoverageProcess", swiftSettings: settings),
  .testTarget(
    name: "CoverageTests",
    dependencies: [
      "JSONValues", "Streams", "Timing", "DeterministicTesting", "SystemTesting", "Coverage",
      full("GRDB", "GRDB.swift"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "BlueZTests",
    dependencies: [
      "Streams", "DeterministicTesting", "SystemTesting", "BlueZ", "BlueZTesting", "Btsnoop", "DBusTesting", "DBus",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "CoreBluetoothTests", dependencies: ["Streams", "BlueZ", "BlueZTesting", "CoreBluetooth"],
    swiftSettings: settings),
  .testTarget(
    name: "BlueZProfilesTests", dependencies: ["DeterministicTesting", "BlueZProfiles"], swiftSettings: settings),
  .testTarget(
    name: "NetworkPathTests",
    dependencies: [
      "Streams", "Timing", "DurableFiles", "DeterministicTesting", "SystemTesting", "CNetlink", "DBus", "DBusTesting",
      "NetworkPath", "NetworkPathNetworkManager", log,
    ],
    exclude: ["Peers"], swiftSettings: settings),
  .testTarget(
    name: "SystemStateTests",
    dependencies: [
      "Streams", "Timing", "DeterministicTesting", "SystemTesting", "CLinux", "DBus", "DBusTesting", "SystemState", log,
    ],
    exclude: ["Peers"], swiftSettings: settings),
  .testTarget(
    name: "BackgroundTasksTests",
    dependencies: ["Streams", "Timing", "DurableFiles", "DeterministicTesting", "SystemTesting", "BackgroundTasks"],
    swiftSettings: settings),
  .testTarget(
    name: "AgentTests",
    dependencies: [
      "ErrorReporting", "Streams", "Timing", "DurableFiles", "DeterministicTesting", "SystemTesting", "Agent",
      "BackgroundTasks", "DBus",
      "DBusTesting", "NetworkPath", "SystemState",
    ],
    swiftSettings: settings),
  // A day of an agent's life in a second: a program of its own, because it takes over Swift's executor.
  .executableTarget(
    name: "agent-simulation",
    dependencies: [
      "Streams", "Timing", "DeterministicTesting", "Agent", "BackgroundTasks", "NetworkPath", "SystemState", log,
    ],
    path: "Tests/AgentSimulation", swiftSettings: settings),
  .testTarget(
    name: "RadioTests",
    dependencies: [
      "Streams", "Timing", "DeterministicTesting", "SystemTesting", "Agent", "AudioIngest", "AudioIngestTesting",
      "AudioWearables", "BlueZ", "BlueZTesting", "Btsnoop", "CoreBluetooth", "DBus", "EdgeCoder",
      "EdgeCoderTesting",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "EdgeCoderTests",
    dependencies: [
      "JSONValues", "Streams", "Timing", "DeterministicTesting", "SystemTesting", "BlueZ", "BlueZTesting", "Btsnoop",
      "EdgeCoder", "EdgeCoderTesting", log,
    ],
    exclude: ["Peers"], swiftSettings: settings),
  .target(
    name: "OutgoingHTTP",
    dependencies: [
      "Streams",
      full("AsyncHTTPClient", "async-http-client"),
      full("NIOCore", "swift-nio"),
      full("NIOHTTP1", "swift-nio"),
      full("NIOPosix", "swift-nio"),
      full("NIOSSL", "swift-nio-ssl"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "OutgoingHTTPTests",
    dependencies: [
      "Streams", "DBusTesting", "SystemTesting", "IncomingHTTP", "OutgoingHTTP",
      full("AsyncHTTPClient", "async-http-client"),
      full("NIOCore", "swift-nio"),
      full("NIOHTTP1", "swift-nio"),
      full("NIOPosix", "swift-nio"),
      full("NIOSSL", "swift-nio-ssl"),
    ],
    swiftSettings: settings),
  .target(
    name: "IncomingHTTP",
    dependencies: [
      "Timing", log,
      full("Hummingbird", "hummingbird"),
      full("HummingbirdCore", "hummingbird"),
      full("HummingbirdTLS", "hummingbird"),
      full("HTTPTypes", "swift-http-types"),
      full("NIOCore", "swift-nio"),
      full("NIOHTTP1", "swift-nio"),
      full("NIOSSL", "swift-nio-ssl"),
      full("ServiceLifecycle", "swift-service-lifecycle"),
    ],
    swiftSettings: settings),
  .target(
    name: "EdgeCoderHTTP",
    dependencies: [
      "ErrorReporting", "JSONValues", "Streams", "Timing", "OutgoingHTTP", "IncomingHTTP", "EdgeCoder", log,
    ] + http,
    swiftSettings: settings),
  .testTarget(
    name: "EdgeCoderHTTPTests",
    dependencies: [
      "JSONValues", "SystemTesting", "IncomingHTTP", "EdgeCoder", "EdgeCoderHTTP", "EdgeCoderTesting", log,
      full("HummingbirdTesting", "hummingbird"),
      full("NIOPosix", "swift-nio"),
    ] + http,
    exclude: ["JavaScript", "Python"],
    swiftSettings: settings),
  .target(
    name: "AgentHTTP",
    dependencies: [
      "OutgoingHTTP", "IncomingHTTP", "Agent", log,
      full("AsyncHTTPClient", "async-http-client"),
      full("Crypto", "swift-crypto"),
      full("HTTPTypes", "swift-http-types"),
      full("Hummingbird", "hummingbird"),
      full("NIOCore", "swift-nio"),
      full("NIOFoundationCompat", "swift-nio"),
      full("NIOHTTP1", "swift-nio"),
      full("NIOPosix", "swift-nio"),
      full("ServiceLifecycle", "swift-service-lifecycle"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "AgentHTTPTests",
    dependencies: [
      "Streams", "Timing", "DeterministicTesting", "SystemTesting", "Agent", "AgentHTTP", "BackgroundTasks",
      "DBusTesting", "SystemState", log,
      full("AsyncHTTPClient", "async-http-client"),
      full("Crypto", "swift-crypto"),
      full("Hummingbird", "hummingbird"),
      full("HummingbirdCore", "hummingbird"),
      full("HummingbirdTLS", "hummingbird"),
      full("HTTPTypes", "swift-http-types"),
      full("NIOCore", "swift-nio"),
      full("NIOSSL", "swift-nio-ssl"),
      full("ServiceLifecycle", "swift-service-lifecycle"),
    ],
    swiftSettings: settings),
  .target(
    name: "UploadsHTTP",
    dependencies: [
      "Timing", "OutgoingHTTP", "Uploads",
      full("AsyncHTTPClient", "async-http-client"),
      full("NIOCore", "swift-nio"),
      full("NIOFoundationCompat", "swift-nio"),
      full("NIOHTTP1", "swift-nio"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "UploadsHTTPTests",
    dependencies: [
      "Streams", "Timing", "DeterministicTesting", "SystemTesting", "AudioIngest", "AudioIngestTesting",
      "DBusTesting", "Uploads", "UploadsHTTP", "UploadsTesting",
    ],
    exclude: ["Servers"],
    swiftSettings: settings),
  .target(
    name: "MessageSendingHTTP",
    dependencies: [
      "Streams", "Timing", "OutgoingHTTP", "IncomingHTTP", "MessageSending", log,
      full("AsyncHTTPClient", "async-http-client"),
      full("HTTPTypes", "swift-http-types"),
      full("Hummingbird", "hummingbird"),
      full("NIOCore", "swift-nio"),
      full("NIOHTTP1", "swift-nio"),
      full("NIOPosix", "swift-nio"),
      full("NIOSSL", "swift-nio-ssl"),
      full("ServiceLifecycle", "swift-service-lifecycle"),
    ],
    swiftSettings: settings),
  // What sends over HTTP beside the tests, is traced and killed at it.
  .executableTarget(
    name: "message-sender-process", dependencies: ["Streams", "MessageSending", "MessageSendingHTTP"],
    path: "Tests/MessageSenderProcess", swiftSettings: settings),
  .testTarget(
    name: "MessageSendingHTTPTests",
    dependencies: [
      "Streams", "Timing", "DeterministicTesting", "SystemTesting", "MessageSending", "MessageSendingHTTP", log,
      full("NIOCore", "swift-nio"),
      full("NIOEmbedded", "swift-nio"),
      full("NIOHTTP1", "swift-nio"),
    ],
    swiftSettings: settings),
  .target(
    name: "SpeedTestNIO",
    dependencies: [
      "JSONValues", "Streams", "Timing", "DurableFiles", "OutgoingHTTP", "SpeedTest", log,
      full("AsyncHTTPClient", "async-http-client"),
      full("NIOCore", "swift-nio"),
      full("NIOFoundationCompat", "swift-nio"),
      full("NIOHTTP1", "swift-nio"),
      full("NIOPosix", "swift-nio"),
      full("NIOTLS", "swift-nio"),
      full("NIOSSL", "swift-nio-ssl"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "SpeedTestNIOTests",
    dependencies: [
      "JSONValues", "Places", "Streams", "DBusTesting", "SystemTesting", "SpeedTest", "SpeedTestNIO", log,
      full("NIOCore", "swift-nio"), full("NIOPosix", "swift-nio"),
    ],
    exclude: ["Peers"], swiftSettings: settings),
  .target(
    name: "CoverageHTTP",
    dependencies: [
      "Streams", "IncomingHTTP", "Coverage", log,
      full("HTTPTypes", "swift-http-types"),
      full("Hummingbird", "hummingbird"),
      full("NIOCore", "swift-nio"),
      full("NIOFoundationCompat", "swift-nio"),
      full("ServiceLifecycle", "swift-service-lifecycle"),
    ],
    swiftSettings: settings),
  .executableTarget(
    name: "edgeblue",
    dependencies: [
      "ErrorReporting", "Streams", "Timing", "DurableFiles", "Agent", "AgentHTTP", "AudioIngest", "AudioWearables",
      "BackgroundTasks", "BlueZ", "Btsnoop", "Coverage", "CoverageHTTP", "DBus", "EdgeCoder", "EdgeCoderHTTP",
      "IncomingHTTP", "JSONValues", "MessageSending", "MessageSendingHTTP", "NetworkPath", "NetworkPathNetworkManager",
      "OutgoingHTTP", "Places", "SpeedTest", "SpeedTestNIO", "SystemState", "Uploads", "UploadsHTTP", log,
      full("AsyncHTTPClient", "async-http-client"),
      full("ArgumentParser", "swift-argument-parser"),
      full("Configuration", "swift-configuration"),
      full("NIOCore", "swift-nio"),
      full("ServiceLifecycle", "swift-service-lifecycle"),
      full("UnixSignals", "swift-service-lifecycle"),
    ],
    swiftSettings: settings),
  .testTarget(
    name: "edgeblueTests",
    dependencies: [
      "BackgroundTasks", "DurableFiles", "ErrorReporting", "Streams", "Timing", "DeterministicTesting",
      "SystemTesting", "Agent", "AudioIngest", "AudioIngestTesting", "AudioWearables",
      "BlueZ", "BlueZTesting", "Btsnoop", "Coverage", "DBus", "DBusTesting", "JSONValues", "edgeblue",
      "AgentHTTP", "EdgeCoder", "EdgeCoderHTTP", "EdgeCoderTesting", "IncomingHTTP", "MessageSending",
      "MessageSendingHTTP", "NetworkPath", "SpeedTest", "SpeedTestNIO", "SystemState", "Uploads", "UploadsHTTP", log,
      full("ArgumentParser", "swift-argument-parser"),
      full("AsyncHTTPClient", "async-http-client"),
      full("NIOCore", "swift-nio"),
    ],
    exclude: ["Peers"], swiftSettings: settings),
]

if let fuzzer {
  let parsers: [Target.Dependency] = [
    "DeterministicTesting", "CNetlink", "CZlib", "Agent", "AudioIngest", "BackgroundTasks", "BlueZ",
    "BlueZProfiles", "Btsnoop", "Coverage", "DBus", "EdgeCoder", "JSONValues", "MessageSending", "NetworkPath",
    "SpeedTest", "SystemState",
    "Timing",
    "Uploads",
  ]
  let overHTTP: [Target.Dependency] = [
    "EdgeCoderHTTP", "MessageSendingHTTP", full("NIOCore", "swift-nio"), full("NIOEmbedded", "swift-nio"),
    full("NIOHTTP1", "swift-nio"),
  ]
  targets.append(
    .executableTarget(
      name: "fuzz", dependencies: parsers + overHTTP, path: "Tests/Fuzz",
      exclude: ["Corpus"], swiftSettings: settings + (hasLibFuzzer ? [.define("LIBFUZZER")] : []),
      linkerSettings: hasLibFuzzer ? [.unsafeFlags(["-Xlinker", fuzzer, "-lstdc++"])] : []))
}

// `EDGEBLUE_TESTS="DBusTests EdgeCoderTests"` leaves these test targets and what they need, so that the sanitizers' builds
// and the everyday loop of editing and testing compile no package that they do not use. A trait cannot do that: it decides
// which packages a target gets, not which targets a build of this package has.
if let chosen = Context.environment["EDGEBLUE_TESTS"] {
  var needed: Set<String> = []
  var packages: Set<String> = []
  var unseen = chosen.split(separator: " ").map(String.init)
  while let name = unseen.popLast() {
    guard needed.insert(name).inserted, let target = targets.first(where: { $0.name == name }) else { continue }
    for dependency in target.dependencies {
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _): unseen.append(name)
      case .productItem(_, let package, _, _): packages.insert(package ?? "")
      @unknown default: break
      }
    }
  }
  // The programs that tests start are made of what is there for the tests.
  for program in targets where program.type == .executable {
    let isBuiltOfNeeded = program.dependencies.allSatisfy { dependency in
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _): needed.contains(name)
      case .productItem(_, let package, _, _): packages.contains(package ?? "")
      @unknown default: false
      }
    }
    if isBuiltOfNeeded { needed.insert(program.name) }
  }
  targets.removeAll { !needed.contains($0.name) }
  products.removeAll { ($0 as? Product.Library)?.targets.allSatisfy(needed.contains) != true }
  dependencies.removeAll { dependency in
    guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
    return !packages.contains { location.hasSuffix("/" + $0) || location.hasSuffix("/" + $0 + ".git") }
  }
}

let package = Package(
  name: "EdgeBlue",
  products: products,
  traits: [
    .trait(
      name: "Full", description: "What needs more than swift-log: audio, uploads, the speed test, HTTP, the command"),
    .default(enabledTraits: isDependency ? [] : ["Full"]),
  ],
  dependencies: dependencies,
  targets: targets,
  swiftLanguageModes: [.v6])
