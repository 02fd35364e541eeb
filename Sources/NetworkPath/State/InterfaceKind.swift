internal import CNetlink
import Glibc

extension NetworkLink {
  /// The kind of the interface, derived from the kernel's facts.
  var kind: PathInterface.Kind {
    if flags & UInt32(IFF_LOOPBACK) != 0 { return .loopback }
    switch device.type {
    case "wlan": return .wifi
    case "wwan": return .cellular
    case "bluetooth": return .other
    default: break
    }
    switch Int32(hardware) {
    case ARPHRD_LOOPBACK: return .loopback
    case ARPHRD_IEEE80211, ARPHRD_IEEE80211_PRISM, ARPHRD_IEEE80211_RADIOTAP: return .wifi
    case Self.rawIP: return .cellular
    case ARPHRD_TUNNEL, ARPHRD_TUNNEL6, ARPHRD_SIT, ARPHRD_IPGRE, Self.greOverIPv6, Self.noHardware: return .tunnel
    case ARPHRD_ETHER: return ofEthernet
    default: return .other
    }
  }

  /// The kind of an interface with Ethernet frames, which many virtual interfaces use, too.
  private var ofEthernet: PathInterface.Kind {
    switch virtualKind {
    case "tun", "wireguard", "gretap", "ip6gretap", "erspan", "ip6erspan", "vxlan", "geneve", "l2tpeth": .tunnel
    case "dummy", "ifb", "nlmon", "netdevsim": .other
    case "wwan", "rmnet": .cellular
    case "bluetooth": .other
    default: .ethernet
    }
  }

  /// Whether the interface is tethered to a phone.
  var isTethered: Bool {
    device.type == "bluetooth" || device.driver == "rndis_host" || device.driver == "ipheth"
  }

  /// The link state.
  var state: PathInterface.Link {
    guard flags & UInt32(IFF_UP) != 0 else { return .down }
    switch operationalState {
    case 6: return .up
    case 5: return .dormant
    // Unknown: drivers of tunnels and of the loopback do not set it; then the lower layer counts.
    case 0: return flags & Self.lowerLayerUp != 0 ? .up : .noCarrier
    default: return .noCarrier
    }
  }

  /// `IFF_LOWER_UP` of <linux/if.h>.
  private static let lowerLayerUp: UInt32 = 0x10000
  /// `ARPHRD_RAWIP`, `ARPHRD_IP6GRE` and `ARPHRD_NONE` of <linux/if_arp.h>: modems, and tunnels without a link layer.
  private static let rawIP: Int32 = 519
  private static let greOverIPv6: Int32 = 823
  private static let noHardware: Int32 = 0xfffe
}
