import CZlib
import Foundation
import JSONValues

@testable import BlueZ
@testable import EdgeCoder

extension Target {
  static let edgeCoder = [
    Target("json-scanner", texts: [#"{"id":"a","prompt":"b\"}"}{"id":"c"}"#, #"x{"a":[{}]}{"#], take: scanner),
    Target(
      "wire",
      texts: [
        #"{"id":"a","maxTokens":5,"prompt":"b"}"#, #"{"id":"a","ok":true,"output":"b","durationMs":4}"#,
        #"{"modelState":"ready","batteryPct":50}"#, #"{"id":"a","ok":false,"output":"busy"}"#,
      ], take: wire),
    Target(
      "write-assembler", seeds: [[0, 0, 1, 65, 0, 1, 1, 66], [0, 4, 1, 67, 0, 0, 4, 1, 2, 3, 4]], take: assembler),
    Target(
      "json-value", texts: [#" {"a":[1,-0.5e+3,null,true,"\\u00e9\\ud83d\\ude00"],"b":{}} "#, "[[]]"], take: jsonValue),
    Target(
      "request-form",
      texts: [
        #"{"version":1,"prompt":"a","options":{"temperature":0.5,"seed":7,"stop":["x"]},"format":"json"}"#,
        #"{"version":1,"messages":[{"role":"assistant","content":"","toolCalls":[{"id":"1","name":"f","#
          + #""arguments":"{}"}]},{"role":"tool","content":"a","toolCallId":"1"}],"tools":[{}],"toolChoice":"required"}"#,
      ], take: requestForm),
    Target(
      "reply-parts",
      texts: [
        #"{"text":"a"}"# + "\n" + #"{"ignored":["seed"],"toolCall":{"id":"1","name":"f","arguments":""}}"# + "\n"
      ],
      take: replyParts),
    Target("mux-frame", seeds: frames, take: frame),
    Target("mux-server", seeds: [session], take: muxServer),
    Target("mux-client", seeds: [session], take: muxClient),
    Target("mux-values", seeds: [[0, 7, 0, 0, 65, 0, 6, 0, 1, 1, 66, 67, 4, 7, 0, 2, 9]], take: values),
    Target("utf8", texts: ["aä€😀", "\u{ff}"], take: utf8),
    Target(
      "bonds",
      texts: [#"[{"adapter":"00:AA:01:00:00:41","peer":"00:AA:01:00:00:42","role":"phone","madeMs":1700000000000}]"#]
    ) { bytes in
      _ = file("bonds.json", bytes)
      let store = BondStore(folder: scratch)
      if let adapter = BluetoothAddress("00:AA:01:00:00:41") { _ = store.admitted(at: adapter, as: .central) }
      _ = try store.bonds()
    },
  ]

  /// However the bytes are cut, the same objects are found.
  private static func scanner(_ bytes: [UInt8]) {
    var whole = JSONObjectScanner(sizeLimit: 256)
    var cut = JSONObjectScanner(sizeLimit: 256)
    func objects(_ events: [JSONObjectScanner.Event]) -> [[UInt8]] {
      events.compactMap { event in if case .object(let bytes) = event { bytes } else { nil } }
    }
    let found = objects(whole.receive(bytes, at: .zero))
    let again = bytes.flatMap { objects(cut.receive([$0], at: .zero)) }
    require(found == again, "cut into bytes: \(again), in one piece: \(found)")
    require(found.allSatisfy { $0.count <= 256 }, "an object over the limit")
    _ = whole.expire(at: .seconds(100))
    require(whole.reset() <= 256, "more kept than the limit")
  }

  /// What is read and written again is the same value.
  private static func jsonValue(_ bytes: [UInt8]) throws {
    let value = try JSONValue(parsing: bytes)
    require(try! JSONValue(parsing: value.encoded) == value, "written and read it is another value")
  }

  private static func requestForm(_ bytes: [UInt8]) throws {
    let request = try RequestForm.decode(bytes, maxTokens: nil)
    let again = try! RequestForm.decode(RequestForm.encoded(request), maxTokens: nil)
    require(again == request, "written and read it is another request")
  }

  /// However the bytes are cut, the same parts are found.
  private static func replyParts(_ bytes: [UInt8]) {
    var whole = ReplyPartReader()
    var cut = ReplyPartReader()
    let found = whole.read(bytes)
    var again: [ReplyPart]? = []
    for byte in bytes {
      guard let parts = cut.read([byte]) else {
        again = nil
        break
      }
      again? += parts
    }
    require(found == again, "cut into bytes it is another reply")
    for part in found ?? [] { require(ReplyPart.parts(ofLine: part.line.dropLast()) == [part], "another part") }
  }

  private static func wire(_ bytes: [UInt8]) throws {
    _ = Wire.recoverID(fromHead: bytes)
    _ = try? Wire.Status.decode(bytes)
    _ = try? Wire.Response.decode(bytes)
    let request = try Wire.Request.decode(bytes)
    let encoded = request.encoded()
    require(encoded.count == request.encodedLength, "the computed length is wrong")
    require(try! Wire.Request.decode(encoded) == request, "encoded and decoded it is another request")
  }

  private static func assembler(_ bytes: [UInt8]) {
    var input = Input(bytes)
    var assembler = WriteAssembler()
    while !input.isEmpty {
      let offset = Int(input.byte()) << 8 | Int(input.byte())
      if offset == 0xffff { assembler.reset() }
      _ = assembler.receive(input.piece(), offset: offset)
    }
  }

  /// Frames without their checksum, which the target appends.
  private static let frames: [[UInt8]] = {
    let terms = MuxTerms(window: 1024, frameLimit: 512, inflates: true, takesDetails: true, takesForms: true)
    let text = Array(String(repeating: "text ", count: 60).utf8)
    let all: [MuxFrame] = [
      .hello(terms), .welcome(terms), .open(stream: 1, maxTokens: 9, length: 5, text: [65]),
      .open(stream: 2, maxTokens: 0, length: 2, isForm: true, text: Array("{}".utf8)),
      .data(stream: 1, text: text),
      .end(stream: 1, status: .busy, durationMs: 4, text: text),
      .end(stream: 1, status: .ok, durationMs: 4, details: Completion(.length).details, text: text),
      .credit(stream: 1, bytes: 900), .cancel(stream: 1),
      .progress(stream: 1, ahead: 2), .fail(reason: "because"),
    ]
    return all.map { $0.encoded(deflating: true).dropLast(4) }
  }()

  private static let session = frames.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xff)] + $0 }

  private static func checked(_ bytes: [UInt8]) throws -> MuxFrame? {
    let sum = bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count))) }
    return try MuxFrame.decode(bytes + withUnsafeBytes(of: sum.littleEndian) { Array($0) })
  }

  private static func frame(_ bytes: [UInt8]) throws {
    _ = try? MuxFrame.decode(bytes)
    _ = MuxOffer(bytes)
    guard let frame = try checked(bytes) else { return }
    // What replaces bytes that are not UTF-8 may be longer than they were, and is cut.
    if case .fail(let reason) = frame, reason.utf8.count > MuxFrame.reasonLimit { return }
    require(try! MuxFrame.decode(frame.encoded(deflating: true)) == frame, "encoded and decoded it is another frame")
  }

  private static func muxServer(_ bytes: [UInt8]) throws {
    var input = Input(bytes)
    let terms = MuxTerms(window: 4096, frameLimit: UInt16(MuxFrame.longest), inflates: true)
    var machine = MuxServerMachine(terms: terms, bearerLimit: 600, requestLimit: 8192)
    while !input.isEmpty {
      guard let frame = try checked(input.longPiece()) else { continue }
      for action in try machine.handle(frame) {
        let stream: UInt32
        let prompt: String
        switch action {
        case .request(let number, let text, _):
          stream = number
          prompt = text
        case .form(let number, let request, _):
          stream = number
          prompt = request.prompt
        case .cancel: continue
        }
        require(prompt.utf8.count <= 3 * 8192, "a prompt over the limit")
        machine.progress(stream, ahead: 3)
        machine.append(stream, prompt)
        if stream & 1 == 0 { machine.finish(stream, MuxEnding(durationMs: 5, completion: Completion(.length))) }
      }
      while let bytes = machine.next() { require(bytes.count <= MuxFrame.longest, "a frame over the limit") }
    }
    _ = try machine.sweep()
  }

  private static func muxClient(_ bytes: [UInt8]) throws {
    var input = Input(bytes)
    let terms = MuxTerms(window: 4096, frameLimit: UInt16(MuxFrame.longest), inflates: true)
    var machine = MuxClientMachine(terms: terms, bearerLimit: 600)
    while !input.isEmpty {
      guard let frame = try checked(input.longPiece()) else { continue }
      for action in try machine.handle(frame) {
        switch action {
        case .ready: for call in 0..<4 { _ = machine.open(Array("prompt".utf8), isForm: call == 3, maxTokens: nil) }
        case .text(let stream, let bytes): machine.consumed(stream, bytes.count)
        case .progress(let stream, _): machine.cancel(stream)
        case .finished: break
        }
      }
      while machine.next() != nil {}
    }
  }

  private static func values(_ bytes: [UInt8]) throws {
    var input = Input(bytes)
    var flow = MuxValueFlow(mux: 7, frameLimit: 2048)
    while !input.isEmpty {
      guard let value = MuxValue(input.piece()) else { continue }
      switch value.kind {
      case .piece, .last:
        for frame in try flow.receive(value) {
          require(frame.count <= 2048, "a frame over the limit")
          if flow.isSpent { flow.send(frame) }
        }
      case .credit: try flow.grant(value.number)
      case .close: return
      }
      _ = flow.next(limit: 20)
      _ = flow.creditDue()
    }
  }

  /// However the bytes are cut, the same text comes out.
  private static func utf8(_ bytes: [UInt8]) {
    var decoder = UTF8Decoder()
    let text = bytes.map { decoder.decode([$0]) }.joined() + decoder.finish()
    if let whole = String(validating: bytes, as: UTF8.self) { require(text == whole, "\(text) and not \(whole)") }
  }
}
