import LibrarySession

/// What all pages have in common: the head, the search box, and the links to the places.
struct PageFrame: Sendable {
  /// The path that the page is served under.
  let base: String
  let allowed: [WebChange]
  let hasOriginals: Bool

  enum Kind: String {
    case gallery, picture, work, error, login
  }

  /// Writes a whole page.
  ///
  /// - Parameters:
  ///   - title: the page's own name.
  ///   - url: the page's own address, relative to the base.
  ///   - query: what stands in the search box.
  ///   - asset: the asset that it is about.
  ///   - main: writes the content of the element `main`.
  func page(
    _ kind: Kind, title: String, url: String, query: String = "", asset: String? = nil,
    _ main: (inout HTMLWriter) throws -> Void
  ) rethrows -> [UInt8] {
    var html = HTMLWriter()
    try html.element("html", ["lang": "en"]) { html in
      html.line()
      head(&html, kind, title)
      try html.element(
        "body",
        [
          "data-page": kind.rawValue,
          "data-allow": allowed.map(\.rawValue).joined(separator: " "), "data-asset": asset,
          "data-originals": hasOriginals ? nil : "none",
        ]
      ) { html in
        html.line()
        if kind != .login { bar(&html, kind, url, query) }
        try html.element("main", ["id": "main", "class": Self.mainClass(kind)]) { html in
          html.line()
          try main(&html)
        }
        html.line()
      }
      html.line()
    }
    html.line()
    return html.bytes
  }

  private static func mainClass(_ kind: Kind) -> String {
    kind == .error || kind == .login ? "message" : kind.rawValue
  }

  private func head(_ html: inout HTMLWriter, _ kind: Kind, _ title: String) {
    html.element("head") { html in
      html.line()
      html.void("meta", ["charset": "utf-8"])
      html.line()
      html.element("title", "\(title) – pipeline")
      html.line()
      html.void("base", ["href": base])
      html.line()
      html.void(
        "meta",
        ["name": "viewport", "content": "width=device-width, initial-scale=1, viewport-fit=cover"])
      html.line()
      html.void("meta", ["name": "color-scheme", "content": "light dark"])
      html.line()
      if StaticFiles.has("icon.svg") {
        html.void(
          "link",
          ["rel": "icon", "type": "image/svg+xml", "href": StaticFiles.url(of: "icon.svg")])
        html.line()
      }
      html.void("link", ["rel": "stylesheet", "href": StaticFiles.url(of: "app.css")])
      html.line()
      if kind != .login, StaticFiles.has("app.js") {
        html.element("script", ["type": "module", "src": StaticFiles.url(of: "app.js")], "")
        html.line()
      }
    }
    html.line()
  }

  private func bar(_ html: inout HTMLWriter, _ kind: Kind, _ url: String, _ query: String) {
    // A page with one message has nothing to pass over.
    if kind != .error, kind != .login {
      html.element("a", ["class": "skip", "href": "\(url)#main"], "Skip to the content")
      html.line()
    }
    html.element("header", ["class": "bar"]) { html in
      html.line()
      html.element("a", ["class": "brand", "href": "."]) { html in
        html.element("span", ["class": "mark", "aria-hidden": "true"], "")
        html.text(" pipeline")
      }
      html.line()
      html.element("form", ["id": "search", "class": "search", "role": "search", "action": "."]) {
        html in
        html.line()
        html.element("label", ["class": "unseen", "for": "q"], "Search")
        html.line()
        html.void(
          "input",
          [
            "id": "q", "name": "q", "type": "search", "value": query,
            "placeholder": "Search, such as camera:fuji taken:2024", "autocomplete": "off",
            "autocapitalize": "off", "spellcheck": "false", "enterkeyhint": "search",
          ])
        html.line()
        html.element("button", ["class": "icon search-icon"]) { html in
          html.element("span", ["class": "unseen"], "Search")
        }
        html.line()
      }
      html.line()
      html.element("nav", ["class": "places", "aria-label": "Places"]) { html in
        html.line()
        html.element(
          "a", ["href": ".", "aria-current": kind == .gallery ? "page" : nil], "Pictures")
        html.line()
        html.element("a", ["href": "work", "aria-current": kind == .work ? "page" : nil], "Work")
        html.line()
      }
      html.line()
    }
    html.line()
  }

  // MARK: Short pages

  /// A page that only says something.
  func message(_ error: HTTPError) -> [UInt8] {
    let title =
      switch error.status {
      case 401, 403: "Not allowed"
      case 404: "Not found"
      case 400..<500: "Not understood"
      default: "Not available"
      }
    return page(.error, title: title, url: ".") { html in
      html.element("h1", title)
      html.line()
      html.element("p", error.message)
      html.line()
      html.element("p") { html in
        html.element("a", ["class": "button", "href": "."], "All pictures")
      }
      html.line()
    }
  }

  /// The page that asks for the token.
  ///
  /// - Parameters:
  ///   - next: the address to go to, relative to the base.
  ///   - isWrong: whether a wrong token was given.
  func login(next: String, isWrong: Bool) -> [UInt8] {
    page(.login, title: "Sign in", url: "login") { html in
      html.element("h1", "pipeline")
      html.line()
      html.element("form", ["class": "login", "method": "post", "action": "login"]) { html in
        html.line()
        if isWrong {
          html.element(
            "p", ["class": "notice", "id": "wrong", "role": "alert"], "This token is not right.")
          html.line()
        }
        html.element("label", ["for": "token"], "Access token")
        html.line()
        html.void(
          "input",
          [
            "id": "token", "name": "token", "type": "password",
            "autocomplete": "current-password", "required": "", "autofocus": "",
            "aria-invalid": isWrong ? "true" : nil, "aria-describedby": isWrong ? "wrong" : nil,
          ])
        html.line()
        html.void("input", ["type": "hidden", "name": "next", "value": next])
        html.line()
        html.element("button", ["class": "button"], "Sign in")
        html.line()
      }
      html.line()
    }
  }
}
