/// What can be read off files: the kernel, radio switches, bluetoothd's settings.
struct SystemChecks {
  /// The file system's root; tests make one of their own.
  var root = ""

  func findings() -> [Finding] {
    [kernel] + switches + [channels, reverseDiscovery] + repairing
  }

  private var kernel: Finding {
    let controllers = SystemFiles.entries(of: "\(root)/sys/class/bluetooth").filter { !$0.contains(":") }
    if !controllers.isEmpty { return Finding("kernel", .ok, "controllers: \(controllers.joined(separator: ", "))") }
    if SystemFiles.entries(of: "\(root)/sys/module").contains("bluetooth") {
      return Finding(
        "kernel", .fail, "no Bluetooth controller",
        fix: "plug one in, or look for missing firmware with `dmesg | grep -i bluetooth`")
    }
    return Finding(
      "kernel", .fail, "the kernel has no Bluetooth", fix: "`modprobe btusb`, or try it out in the radio lab: make demo"
    )
  }

  /// One finding for each Bluetooth radio that is switched off, or one for all.
  private var switches: [Finding] {
    let folder = "\(root)/sys/class/rfkill"
    let radios = SystemFiles.entries(of: folder).filter { SystemFiles.line(of: "\(folder)/\($0)/type") == "bluetooth" }
    let blocked = radios.compactMap { radio -> Finding? in
      let name = SystemFiles.line(of: "\(folder)/\(radio)/name") ?? radio
      if SystemFiles.line(of: "\(folder)/\(radio)/hard") == "1" {
        return Finding(
          "rfkill", .fail, "\(name) is switched off by hardware", fix: "use the switch or key of the machine")
      }
      if SystemFiles.line(of: "\(folder)/\(radio)/soft") == "1" {
        return Finding("rfkill", .fail, "\(name) is switched off by software", fix: "rfkill unblock bluetooth")
      }
      return nil
    }
    return blocked.isEmpty ? [Finding("rfkill", .ok, "no radio is switched off")] : blocked
  }

  /// Several ATT channels (EATT) overtake one another when writes come in bursts.
  private var channels: Finding {
    let file = configurationFile
    let text = SystemFiles.text(of: root + file) ?? ""
    if Self.value(of: "Channels", in: "GATT", of: text) == "1" {
      return Finding("EATT", .ok, "one ATT channel: bursts stay in order")
    }
    return Finding(
      "EATT", .warn,
      "several ATT channels: notifications overtake one another in bursts, or when a host is too busy to keep up",
      fix: "put Channels = 1 under [GATT] in \(file), then: systemctl restart bluetooth")
  }

  /// Whether bluetoothd reads the services of every central that connects; by default it does.
  private var reverseDiscovery: Finding {
    let file = configurationFile
    let text = SystemFiles.text(of: root + file) ?? ""
    if Self.value(of: "ReverseServiceDiscovery", in: "General", of: text) == "false" {
      return Finding("GATT", .ok, "centrals that connect are not searched for services")
    }
    return Finding(
      "GATT", .warn,
      "bluetoothd searches every central that connects for services: a phone may ask its owner to pair for that, and requests wait meanwhile",
      fix: "put ReverseServiceDiscovery = false under [General] in \(file), then: systemctl restart bluetooth")
  }

  /// Whether a stranger may take the place of a paired device; bluetoothd's default is that it may not.
  private var repairing: [Finding] {
    let file = configurationFile
    let text = SystemFiles.text(of: root + file) ?? ""
    guard Self.value(of: "JustWorksRepairing", in: "General", of: text) == "always" else { return [] }
    return [
      Finding(
        "pairing", .warn, "whoever uses the address of a paired device can pair in its place, without a question",
        fix: "take JustWorksRepairing = always out of \(file), then: systemctl restart bluetooth")
    ]
  }

  /// The file that the running bluetoothd was started with (`-f`, `--configfile`), or the usual one.
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

  /// A key of an ini file; comments and other sections do not count.
  static func value(of key: String, in section: String, of text: String) -> String? {
    var current = ""
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.filter { !$0.isWhitespace }
      if line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), line.hasSuffix("]") {
        current = String(line.dropFirst().dropLast())
      } else if current == section, line.hasPrefix(key + "=") {
        return String(line.dropFirst(key.count + 1))
      }
    }
    return nil
  }
}
