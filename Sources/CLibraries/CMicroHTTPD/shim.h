// libmicrohttpd, with fixed-arity forms of its variadic calls.

#ifndef PIPELINE_MICROHTTPD_SHIM_H
#define PIPELINE_MICROHTTPD_SHIM_H

#include <microhttpd.h>
#include <sys/socket.h>

// What a daemon calls; each gets `context` first.
struct pipeline_http_callbacks {
  MHD_AcceptPolicyCallback accepts;
  MHD_NotifyConnectionCallback connection;
  void *(*target)(void *context, const char *target, struct MHD_Connection *connection);
  MHD_AccessHandlerCallback request;
  MHD_RequestCompletedCallback completed;
};

// Paths and queries come as they were sent: the program decodes and checks them itself.
static inline size_t pipeline_http_keep(
    void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  size_t count = 0;
  while (text[count] != 0) count += 1;
  return count;
}

// MHD_start_daemon is variadic. Threads of its own wait by epoll(7); connections may be suspended.
static inline struct MHD_Daemon *pipeline_http_start(
    int listener, unsigned int threads, unsigned int connections, unsigned int timeout,
    size_t memory, const struct pipeline_http_callbacks *callbacks, void *context) {
  return MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0,
      callbacks->accepts, context, callbacks->request, context,
      MHD_OPTION_LISTEN_SOCKET, listener,
      MHD_OPTION_THREAD_POOL_SIZE, threads,
      MHD_OPTION_CONNECTION_LIMIT, connections,
      MHD_OPTION_CONNECTION_TIMEOUT, timeout,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
      MHD_OPTION_NOTIFY_CONNECTION, callbacks->connection, context,
      MHD_OPTION_URI_LOG_CALLBACK, callbacks->target, context,
      MHD_OPTION_UNESCAPE_CALLBACK, &pipeline_http_keep, NULL,
      MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, context,
      MHD_OPTION_END);
}

// MHD_get_connection_info is variadic. Returns -1 if there is none.
static inline int pipeline_http_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

static inline const struct sockaddr *pipeline_http_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info == NULL ? NULL : info->client_addr;
}

// Swift imports these enumerations under names that differ between versions of the header.
static const enum MHD_Result pipeline_http_yes = MHD_YES;
static const enum MHD_Result pipeline_http_no = MHD_NO;
static const enum MHD_ValueKind pipeline_http_headers = MHD_HEADER_KIND;

static inline int pipeline_http_is_start(enum MHD_ConnectionNotificationCode code) {
  return code == MHD_CONNECTION_NOTIFY_STARTED;
}

// Macros that Swift can't evaluate.
static const uint64_t pipeline_http_size_unknown = MHD_SIZE_UNKNOWN;
static const ssize_t pipeline_http_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;

#endif
