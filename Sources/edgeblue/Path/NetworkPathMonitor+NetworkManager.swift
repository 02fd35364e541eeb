import NetworkPath
import NetworkPathNetworkManager

extension NetworkPathMonitor.Options {
  /// The default options with NetworkManager's estimate of the cost of traffic.
  static var withNetworkManager: Self {
    var options = Self()
    options.meteredSource = NetworkManagerMeteredSource()
    return options
  }
}
