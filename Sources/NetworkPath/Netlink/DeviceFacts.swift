/// The facts about an interface that the file system has and the routing socket lacks.
struct DeviceFacts: Sendable, Hashable {
  /// The kernel's `DEVTYPE`: `wlan`, `wwan`, `bluetooth`, `bridge` …
  var type: String?
  /// The driver of the hardware, such as `rndis_host`.
  var driver: String?
}
