import Ingest
import LibrarySession
import PipelineModel

/// `pipeline serve`: shows the library to browsers, until a signal.
enum ServeVerb: Verb {
  static let name = "serve"
  static let summary = "Show the library in a browser, until a signal ends it"
  static let listen = Option(
    name: "--listen", value: "ADDRESS",
    help: "an address and a port, by default 127.0.0.1:8420; or unix:PATH, or systemd")
  static let baseURL = Option(
    name: "--base-url", value: "URL",
    help: "where a proxy shows it, e.g. https://example.org/pictures/")
  static let allow = Option(
    name: "--allow", value: "CHANGE,…",
    help: "what pages may change: tag, trash, retry; by default nothing",
    values: WebChange.allCases.map(\.rawValue))
  static let hide = Option(
    name: "--hide", value: "FACT,…",
    help: "what nobody gets to see: gps, where pictures were taken, and so no originals either",
    values: HiddenFact.allCases.map(\.rawValue))
  static let tokenFile = Option(
    name: "--token-file", value: "FILE", help: "ask for the token in this file")
  static let insecure = Option(
    name: "--insecure-no-auth", help: "show it to everybody who reaches the address")
  static let options = [listen, baseURL, allow, hide, tokenFile, insecure]
  static let examples = [
    ("pipeline serve", "then open http://127.0.0.1:8420/ in a browser on this machine"),
    ("pipeline serve --allow tag,trash", "pages may tag, and put assets into the trash"),
    ("pipeline serve --hide gps", "for others, who need not know where you live"),
    (
      "pipeline serve --listen 0.0.0.0:8420 --token-file token --base-url http://192.168.1.5:8420/",
      "for other machines; without TLS, so only in a network that you trust"
    ),
    (
      "pipeline serve --listen unix:/run/pipeline/web --base-url https://example.org/pictures/",
      "behind a proxy that has TLS and users"
    ),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 0)
    let options = try options(context)
    let environment = context.environment.mapValues(\.description)
    let service = ServiceManager(environment: environment)
    let wakeup = Wakeup()
    context.console.sendAtOnce()
    SignalHandler.shared.listen { wakeup.wake() }
    let console = context.console
    var session = try WebSession(
      context.search, options, service: service, wakeup: wakeup
    ) { console.warning($0) }
    try session.run(environment: environment) {
      SignalHandler.shared.signal != nil
    } ready: { url in
      if context.console.isJSON {
        context.console.event("serving", ["url": JSONMembers.text(url)])
      } else if let url {
        context.console.message("Serving at \(url) until a signal, such as Ctrl-C, ends it.")
      }
      context.console.flush()
    }
    return SignalHandler.shared.exitCode ?? .success
  }

  private static func options(_ context: Context) throws -> WebOptions {
    let arguments = context.arguments
    let address = arguments.path(listen) ?? "127.0.0.1:8420"
    guard let place = WebOptions.Place(address, path: context.path) else {
      throw UsageError(
        "“\(address.printable)” is no address to listen on; write for example 127.0.0.1:8420, "
          + "[::1]:8420 or unix:PATH.", verb: name)
    }
    var options = WebOptions(place: place, isOpen: arguments.has(insecure))
    if let text = arguments.value(baseURL) {
      guard let base = BaseURL(text) else {
        throw UsageError(
          "“\(text)” is no base URL; write for example https://example.org/pictures/.", verb: name)
      }
      options.base = base
    }
    for word in arguments.value(allow)?.split(separator: ",") ?? [] {
      guard let change = WebChange(rawValue: String(word)) else {
        throw UsageError.unknownValue(String(word), of: allow, known: allow.values, verb: name)
      }
      options.allowed.append(change)
    }
    // An empty value, as of a variable that is not set, must not show everything.
    for word in arguments.value(hide)?.split(separator: ",", omittingEmptySubsequences: false) ?? []
    {
      guard let fact = HiddenFact(rawValue: String(word)) else {
        throw UsageError.unknownValue(String(word), of: hide, known: hide.values, verb: name)
      }
      options.hidden.append(fact)
    }
    if let file = arguments.path(tokenFile) {
      guard !options.isOpen else {
        throw UsageError(
          "\(tokenFile.name) and \(insecure.name) exclude each other.", verb: name)
      }
      options.token = try WebOptions.token(in: context.path(file))
    }
    return options
  }
}
