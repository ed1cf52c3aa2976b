import Foundation
import Glibc
import PipelineModel
import Testing

/// Plugins in C, compiled in a folder of their own.
final class PluginCompiler {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(
      path: "pipeline-cc-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Compiles a library and returns its path.
  func compile(_ source: String, name: String = "sample") throws -> BytePath {
    let file = folder.appending(path: "\(name).c")
    let library = folder.appending(path: "libpipeline-\(name).so")
    try Data(source.utf8).write(to: file)
    let compiler = Process()
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.arguments = [
      "cc", "-shared", "-fPIC", "-Wall", "-Werror", "-I", Self.headers, "-o", library.path,
      file.path,
    ]
    try compiler.run()
    compiler.waitUntilExit()
    try #require(compiler.terminationStatus == 0)
    // Whatever the user's mask is: a library that the group may write is refused.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: library.path)
    return BytePath(library.path)
  }

  /// How many strings a compiled and loaded plugin was given back.
  func releases(of name: String) throws -> Int32 {
    let handle = try #require(
      dlopen(folder.appending(path: "libpipeline-\(name).so").path, RTLD_NOW | RTLD_NOLOAD))
    defer { dlclose(handle) }
    let symbol = try #require(dlsym(handle, "releases"))
    return symbol.load(as: Int32.self)
  }

  /// The folder of the public header, beside this file's package.
  private static var headers: String {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Sources/CPipelinePlugin/include").path
  }

  static func manifest(id: String = "sample", outputVersion: Int = 1) -> String {
    let json = """
      {"id":"\(id)","version":"1","outputVersion":\(outputVersion),"scope":"original",\
      "options":{"type":"object"},"accepts":["text/*"],"facts":["answer"],\
      "makesRenditions":false,"estimates":true,"runtime":"C"}
      """
    return json.replacingOccurrences(of: "\"", with: "\\\"")
  }

  /// A plugin with parts to be replaced; texts are written as in C.
  static func source(
    abi: String = "PIPELINE_PLUGIN_ABI", size: String = "sizeof(pipeline_plugin)",
    manifest: String = manifest(),
    create: String = "return text(\"\").bytes ? 0 : (void *)&releases;",
    answer: String = "{\\\"outcome\\\":\\\"done\\\",\\\"facts\\\":{\\\"answer\\\":42}}",
    release: String = "give_back", prologue: String = ""
  ) -> String {
    """
    #include <stdio.h>
    #include <string.h>
    #include "pipeline_plugin.h"

    int releases;
    static const pipeline_host *program;

    static pipeline_string text(const char *characters) {
      pipeline_string string = { *characters ? characters : 0, strlen(characters) };
      return string;
    }
    static pipeline_string manifest(void) { return text("\(manifest)"); }
    static void *create(pipeline_string options, pipeline_string *failure) { \(create) }
    static void destroy(void *instance) {}
    static int64_t estimate(void *instance, pipeline_string facts) { return 4096; }
    static pipeline_string process(void *instance, pipeline_string request, void *job) {
      program->log(job, PIPELINE_LOG_INFO, text("at work"));
      program->progress(job, 0.5);
      program->progress(job, 7);
      if (program->cancelled(job))
        return text("{\\"outcome\\":\\"failed\\",\\"failure\\":"
                    "{\\"class\\":\\"transient\\",\\"reason\\":\\"Given up.\\"}}");
      return text("\(answer)");
    }
    __attribute__((unused)) static void give_back(pipeline_string string) { releases++; }
    static const pipeline_plugin table = {
      \(abi), \(size), manifest, create, destroy, estimate, process, \(release) };

    const pipeline_plugin *pipeline_plugin_v1(const pipeline_host *host) {
      \(prologue)
      program = host;
      return &table;
    }
    """
  }
}
