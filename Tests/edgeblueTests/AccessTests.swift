import Foundation
import Testing

@testable import edgeblue

@Suite("The default access to a phone, and the text about it") struct AccessOptionTests {
  private func options(_ arguments: String...) throws -> AccessOptions<Centrals> { try AccessOptions.parse(arguments) }

  @Test("Without options, a real controller admits bonded centrals, and a virtual one admits all")
  func realControllersAreClosedAndVirtualOnesOpen() throws {
    let none = try options()
    #expect(none.policy(isVirtual: false) == .encrypted())
    #expect(none.policy(isVirtual: true) == .open)
    #expect(try PhoneChoiceOptions.parse([]).access.policy(isVirtual: false) == .encrypted())
    #expect(try RelayOptions.parse([]).access.policy(isVirtual: false) == .encrypted())
    #expect(none.words(for: .open, isVirtual: true).hasSuffix("may send prompts (default on a virtual controller)"))
    #expect(none.words(for: .encrypted(), isVirtual: false).contains("default; `edgeblue pair`"))
  }

  @Test("The access options decide which centrals are admitted") func whatIsAskedForHolds() throws {
    #expect(try options("--access", "open").policy(isVirtual: false) == .open)
    let listed = try options("--allow", "00:AA:01:00:00:42", "00:AA:01:00:00:43")
    #expect(listed.policy(isVirtual: true) == .encrypted(allowed: Set(listed.allow)))
    #expect(listed.allow.count == 2)
    #expect(try RelayOptions.parse(["--access", "open"]).access.policy(isVirtual: false) == .open)
    #expect(
      try RelayOptions.parse(["--allow", "00:AA:01:00:00:42"]).access.policy(isVirtual: true)
        == .encrypted(allowed: Set(listed.allow.prefix(1))))
    let strict = try options("--access", "authenticated")
    #expect(strict.policy(isVirtual: true) == .authenticated())
    #expect(!strict.words(for: .authenticated(), isVirtual: true).contains("default"))
  }

  /// The kernel's class folder holds links into the tree of devices.
  @Test("A controller is virtual if the kernel lists it among virtual devices")
  func aVirtualControllerIsToldByItsPlace() throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "class-\(UUID().uuidString)")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
    let folder = root.appending(path: "sys/class/bluetooth")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, place) in [("hci0", "virtual/bluetooth/hci0"), ("hci1", "pci0000:00/usb1/1-2/1-2:1.0/bluetooth/hci1")] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.appending(path: name).path, withDestinationPath: "../../devices/\(place)")
    }
    #expect(VirtualController.isVirtual("hci0", root: root.path))
    #expect(!VirtualController.isVirtual("hci1", root: root.path))
    #expect(!VirtualController.isVirtual("hci2", root: root.path))
  }

  @Test(
    "The duration of a pairing window has seconds or minutes",
    arguments: [("120", 120), ("120s", 120), ("2m", 120), ("60m", 3600), ("3600s", 3600)])
  func timesOfAWindow(_ text: String, _ seconds: Int) {
    #expect(PairOpenCommand.seconds(text) == seconds)
  }
}
