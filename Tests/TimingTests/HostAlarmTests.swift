import Testing

@testable import Timing

@Suite("The alarm of the host") struct HostAlarmTests {
  @Test("An alarm is set, replaced and cleared, where the kernel lets this process") func anAlarm() {
    let alarm = HostAlarm()
    #expect(alarm.left == nil)
    alarm.set(.seconds(3600))
    guard alarm.isAllowed else { return #expect(alarm.left == nil) }
    #expect((.seconds(3000)...Duration.seconds(3600)).contains(alarm.left ?? .zero))
    alarm.set(.seconds(7200))
    #expect((alarm.left ?? .zero) > .seconds(3600))
    alarm.set(nil)
    #expect(alarm.left == nil)
  }
}
