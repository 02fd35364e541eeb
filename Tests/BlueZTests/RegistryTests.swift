import DBus
import Testing

@testable import BlueZ

@Suite("The registry of declarations") struct RegistryTests {
  private final class Lamp: Registration {
    let title = "a lamp"
    let place = RegistrationPlace.service
    let manager = "org.example.Lamps"
    let order = 0
    let needsPower = false
    let undoing = Undoing { _, _ in }

    func establish(on connection: Connection, at path: ObjectPath) async throws {}
  }

  private func appearance(_ number: Int) -> AdapterInstance {
    AdapterInstance(generation: 0, path: "/org/bluez/hci0", appearance: number, powerUp: 0)
  }

  @Test("What was dropped at one appearance and attempted at the next is undone there, when the report comes late")
  func aLateReport() throws {
    var registry = Registry()
    let lamp = Lamp()
    let id = registry.declare(lamp)
    registry.attempts(id, at: appearance(1))
    registry.established(id, at: appearance(1), present: appearance(1))
    registry.attempts(id, at: appearance(2))
    // That the first one is gone.
    registry.dropped(lamp)
    registry.established(id, at: appearance(2), present: appearance(2))
    #expect(try #require(registry.entries[id]).isEstablished(at: appearance(2)) == false)
    #expect(registry.withdraw(id) === lamp)
    #expect(try #require(registry.entry(withdrawn: id)).mayExist(at: appearance(2)))
  }

  @Test("What is dropped is missing, and is not undone at another appearance") func dropped() throws {
    var registry = Registry()
    let lamp = Lamp()
    let id = registry.declare(lamp)
    registry.attempts(id, at: appearance(1))
    registry.established(id, at: appearance(1), present: appearance(1))
    registry.dropped(lamp)
    #expect(try #require(registry.entries[id]).status == .missing(failures: 0))
    _ = registry.withdraw(id)
    #expect(try #require(registry.entry(withdrawn: id)).mayExist(at: appearance(2)) == false)
  }
}
