import Foundation

#if canImport(EdgeCoderHTTP)
  @testable import EdgeCoder
  @testable import EdgeCoderHTTP

  extension Target {
    static let http = [
      Target(
        "api-requests",
        texts: [
          #"{"model":"m","prompt":"p","options":{"num_predict":5,"stop":["a","b"]}}"#,
          #"{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"max_tokens":9,"stop":"x"}"#,
          #"{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}],"tools":[]}"#,
          #"{"prompt":["p"],"n":1,"echo":false}"#,
          #"{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}],"tools":[],"text":{}}"#,
        ], take: requests),
      Target("stop-filter", seeds: [[2, 2, 97, 98, 1, 98, 99, 97, 97, 98, 99]], take: stops),
      Target(
        "engine-ollama",
        texts: [#"{"response":"a","done":false}"# + "\n" + #"{"response":"","done":true,"eval_count":5}"# + "\n"]
      ) { bytes in
        try reply(bytes, OllamaReplyDecoder())
      },
      Target(
        "engine-openai", texts: ["data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\ndata: [DONE]\n\n"]
      ) { bytes in try reply(bytes, OpenAIReplyDecoder()) },
      Target("central-reply", texts: [#"{"text":"a"}"# + "\n" + #"{"response":"a","done":true,"ok":true}"# + "\n"]) {
        bytes in
        var reader = CentralReplyReader(url: "http://a")
        for start in stride(from: 0, to: bytes.count, by: 7) {
          _ = try reader.append(bytes[start..<min(start + 7, bytes.count)])
        }
        _ = try reader.end()
      },
    ]

    private static func requests(_ bytes: [UInt8]) throws {
      _ = try? RequestBody<GenerateRequest>(bytes).checkedPrompt()
      _ = try? RequestBody<OllamaChatRequest>(bytes).checkedPrompt()
      _ = try? RequestBody<OllamaShowRequest>(bytes)
      _ = try? RequestBody<OpenAIChatRequest>(bytes).checkedPrompt()
      _ = try? RequestBody<ResponsesRequest>(bytes).checkedPrompt()
      _ = try RequestBody<OpenAICompletionRequest>(bytes).checkedPrompt()
    }

    /// What comes out is the text before the first sequence, as a plain search finds it.
    private static func stops(_ bytes: [UInt8]) {
      var input = Input(bytes)
      let sequences = (0..<Int(input.byte() & 3)).map { _ in text(input.piece().prefix(8)) }.filter { !$0.isEmpty }
      let whole = text(input.all()[...])
      var filter = StopFilter(sequences)
      let passed = whole.unicodeScalars.map { filter.filter(String($0)) }.joined() + filter.finish()
      let end = firstEnd(of: sequences.map { Array($0.utf8) }, in: Array(whole.utf8))
      require(Array(passed.utf8) == Array(whole.utf8.prefix(end)), "passed \(passed) of \(whole) with \(sequences)")
    }

    /// ASCII, so that every cut is between characters.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
      String(decoding: bytes.map { $0 & 0x7f }, as: UTF8.self)
    }

    /// The number of bytes before the sequence that is complete first, and of these the longest.
    private static func firstEnd(of sequences: [[UInt8]], in bytes: [UInt8]) -> Int {
      for end in 0...bytes.count {
        let complete = sequences.filter { bytes[..<end].suffix($0.count) == $0[...] }.map(\.count).max()
        if let complete { return end - complete }
      }
      return bytes.count
    }

    private static func reply(_ bytes: [UInt8], _ decoder: some ReplyDecoder) throws {
      var reader = ReplyReader(limits: EngineLimits(), decoder: decoder)
      for start in stride(from: 0, to: bytes.count, by: 7) {
        _ = try reader.append(bytes[start..<min(start + 7, bytes.count)])
      }
      _ = try reader.end()
    }
  }
#else
  extension Target {
    static let http: [Target] = []
  }
#endif
