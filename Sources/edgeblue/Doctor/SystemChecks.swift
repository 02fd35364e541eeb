import BlueZ

/// The checks that read files: the kernel, rfkill switches, the settings of bluetoothd.
struct SystemChecks {
  /// The root of the file system, which tests replace.
  var root = ""
  /// The release of the running bluetoothd, on which its defaults depend; `nil` when it is unknown.
  var release: BlueZRelease?

  func findings() -> [Finding] {
    [kernel] + switches + [channels, reverseDiscovery, secureConnections] + repairing
      + (KernelFault(root: root)?.findings ?? [])
  }

  private var kernel: Finding {
    let controllers = SystemFiles.entries(of: "\(root)/sys/class/bluetooth").filter { !$0.contains(":") }
    if !controllers.isEmpty { return Finding("kernel", .ok, "controllers: \(controllers.joined(separator: ", "))") }
    if SystemFiles.entries(of: "\(root)/sys/module").contains("bluetooth") {
      return Finding(
        "kernel", .fail, "no Bluetooth controller",
        fix: "plug one in, or check for missing firmware: dmesg | grep -i bluetooth")
    }
    return Finding(
      "kernel", .fail, "the kernel has no Bluetooth", fix: "modprobe btusb, or use the radio lab: make demo"
    )
  }

  /// One finding for each blocked Bluetooth radio, or one if none is blocked.
  private var switches: [Finding] {
    let folder = "\(root)/sys/class/rfkill"
    let radios = SystemFiles.entries(of: folder).filter { SystemFiles.line(of: "\(folder)/\($0)/type") == "bluetooth" }
    let blocked = radios.compactMap { radio -> Finding? in
      let name = SystemFiles.line(of: "\(folder)/\(radio)/name") ?? radio
      if SystemFiles.line(of: "\(folder)/\(radio)/hard") == "1" {
        return Finding(
          "rfkill", .fail, "\(name) is blocked by a hardware switch", fix: "use the switch or key of the machine")
      }
      if SystemFiles.line(of: "\(folder)/\(radio)/soft") == "1" {
        return Finding("rfkill", .fail, "\(name) is blocked by software", fix: "rfkill unblock bluetooth")
      }
      return nil
    }
    return blocked.isEmpty ? [Finding("rfkill", .ok, "no Bluetooth radio is blocked")] : blocked
  }

  /// The check for several ATT channels (EATT), which reorder bursts of writes.
  private var channels: Finding {
    let fix = fix("set Channels = 1 under [GATT] in")
    switch (value(of: "Channels", in: "GATT"), release?.has(.opensOneChannel)) {
    case ("1", _):
      return Finding("EATT", .ok, "one ATT channel: bursts keep their order")
    case (nil, true):
      return Finding("EATT", .ok, "one ATT channel, the default of this release: bursts keep their order")
    case (nil, nil):
      return Finding(
        "EATT", .warn,
        "the release of bluetoothd is unknown: before 5.67 it opens several ATT channels, and notifications may be reordered",
        fix: fix)
    default:
      return Finding(
        "EATT", .warn, "several ATT channels: notifications may be reordered in bursts, or on a busy host", fix: fix)
    }
  }

  /// The check that bluetoothd does not discover the services of every central that connects, as it does by default.
  private var reverseDiscovery: Finding {
    setting("ReverseServiceDiscovery", in: "General", is: "false")
      ? Finding("GATT", .ok, "services of connecting centrals are not discovered")
      : Finding(
        "GATT", .warn,
        "bluetoothd discovers the services of every central that connects: the central may ask its user to pair, and requests wait meanwhile",
        fix: fix("set ReverseServiceDiscovery = false under [General] in"))
  }

  /// The check that bluetoothd uses LE Secure Connections, by default with every peer that has them.
  private var secureConnections: Finding {
    if setting("SecureConnections", in: "General", is: "off") {
      return Finding(
        "pairing", .warn,
        "LE Secure Connections are off: whoever hears a pairing has its keys, and the mode `authenticated` serves nobody",
        fix: fix("remove SecureConnections = off from"))
    }
    if setting("SecureConnections", in: "General", is: "only") {
      return Finding("pairing", .ok, "only over LE Secure Connections")
    }
    return Finding(
      "pairing", .ok,
      "over LE Secure Connections where the peer has them; legacy pairing counts as `encrypted`, not as `authenticated`",
      fix: fix("to refuse legacy pairing, set SecureConnections = only under [General] in"))
  }

  /// The check that an unknown device cannot replace a bonded one, which is the default of bluetoothd.
  private var repairing: [Finding] {
    guard setting("JustWorksRepairing", in: "General", is: "always") else { return [] }
    return [
      Finding(
        "pairing", .warn, "a device that uses the address of a bonded device can replace its bond without confirmation",
        fix: fix("remove JustWorksRepairing = always from"))
    ]
  }

  /// Returns `true` if bluetoothd's settings file gives a key this value.
  private func setting(_ key: String, in section: String, is value: String) -> Bool {
    self.value(of: key, in: section) == value
  }

  /// The value of a key in bluetoothd's settings file.
  private func value(of key: String, in section: String) -> String? {
    SystemFiles.value(of: key, in: section, of: SystemFiles.text(of: root + configurationFile) ?? "")
  }

  private func fix(_ change: String) -> String {
    "\(change) \(configurationFile), then: systemctl restart bluetooth"
  }

  /// The settings file of the running bluetoothd (`-f`, `--configfile`), or the default one.
  private var configurationFile: String {
    let processes = SystemFiles.entries(of: "\(root)/proc").filter { $0.allSatisfy(\.isNumber) }
    for process in processes where SystemFiles.line(of: "\(root)/proc/\(process)/comm") == "bluetoothd" {
      let words = (SystemFiles.text(of: "\(root)/proc/\(process)/cmdline") ?? "").split(separator: "\0").map(
        String.init)
      for (index, word) in words.enumerated() {
        if word == "-f" || word == "--configfile", index + 1 < words.count { return words[index + 1] }
        if word.hasPrefix("--configfile=") { return String(word.dropFirst("--configfile=".count)) }
      }
    }
    return "/etc/bluetooth/main.conf"
  }
}
