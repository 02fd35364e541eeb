internal import CNetlink
import Glibc

extension NetworkLink {
  /// What the kernel's facts make of an interface.
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

  /// Ethernet's frames are used by much that is no cable.
  private var ofEthernet: PathInterface.Kind {
    switch virtualKind {
    case "tun", "wireguard", "gretap", "ip6gretap", "erspan", "ip6erspan", "vxlan", "geneve", "l2tpeth": .tunnel
    case "dummy", "ifb", "nlmon", "netdevsim": .other
    case "wwan", "rmnet": .cellular
    case "bluetooth": .other
    default: .ethernet
    }
  }

  /// Whether it goes through a telephone.
  var isTethered: Bool {
    device.type == "bluetooth" || device.driver == "rndis_host" || device.driver == "ipheth"
  }

  /// Whether packets can pass.
  var state: PathInterface.Link {
    guard flags & UInt32(IFF_UP) != 0 else { return .down }
    switch operationalState {
    case 6: return .up
    case 5: return .dormant
    // Unknown: the driver does not say, as those of tunnels and the loopback; then the lower layer counts.
    case 0: return flags & Self.lowerLayerUp != 0 ? .up : .noCarrier
    default: return .noCarrier
    }
  }

  /// `IFF_LOWER_UP` of <linux/if.h>.
  private static let lowerLayerUp: UInt32 = 0x10000
  /// `ARPHRD_RAWIP`, `ARPHRD_IP6GRE` and `ARPHRD_NONE` of <linux/if_arp.h>: modems, and tunnels without frames.
  private static let rawIP: Int32 = 519
  private static let greOverIPv6: Int32 = 823
  private static let noHardware: Int32 = 0xfffe
}
