/// Puts text in quotes, shortened and safe to write to a terminal.
package func quoted(_ text: String) -> String {
  let short = text.unicodeScalars.count > 80 ? String(text.unicodeScalars.prefix(79)) + "…" : text
  return "“\(BytePath(short).printable)”"
}
