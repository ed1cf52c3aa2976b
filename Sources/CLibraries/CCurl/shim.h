// libcurl's types, and fixed-arity forms of its variadic functions.
//
// The library itself is opened with dlopen(3): linked, it would load some 25 libraries into every
// process. `function` is what dlsym(3) gave for curl_easy_setopt or curl_easy_getinfo.

#ifndef PIPELINE_CURL_SHIM_H
#define PIPELINE_CURL_SHIM_H

#include <curl/curl.h>
#include <sys/socket.h>

typedef CURLcode (*pipeline_curl_setopt)(CURL *, CURLoption, ...);
typedef CURLcode (*pipeline_curl_getinfo)(CURL *, CURLINFO, ...);

static inline CURLcode pipeline_curl_set_long(
    void *function, CURL *handle, CURLoption option, long value) {
  return ((pipeline_curl_setopt)function)(handle, option, value);
}

static inline CURLcode pipeline_curl_set_size(
    void *function, CURL *handle, CURLoption option, curl_off_t value) {
  return ((pipeline_curl_setopt)function)(handle, option, value);
}

static inline CURLcode pipeline_curl_set_text(
    void *function, CURL *handle, CURLoption option, const char *value) {
  return ((pipeline_curl_setopt)function)(handle, option, value);
}

static inline CURLcode pipeline_curl_set_pointer(
    void *function, CURL *handle, CURLoption option, void *value) {
  return ((pipeline_curl_setopt)function)(handle, option, value);
}

static inline CURLcode pipeline_curl_set_headers(
    void *function, CURL *handle, struct curl_slist *value) {
  return ((pipeline_curl_setopt)function)(handle, CURLOPT_HTTPHEADER, value);
}

// What a transfer calls; each gets `context` last, as libcurl passes it.
typedef size_t (*pipeline_curl_write)(char *bytes, size_t size, size_t count, void *context);
typedef size_t (*pipeline_curl_read)(char *bytes, size_t size, size_t count, void *context);
typedef int (*pipeline_curl_progress)(
    void *context, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

static inline CURLcode pipeline_curl_set_write(
    void *function, CURL *handle, CURLoption option, pipeline_curl_write callback) {
  return ((pipeline_curl_setopt)function)(handle, option, callback);
}

static inline CURLcode pipeline_curl_set_read(
    void *function, CURL *handle, pipeline_curl_read callback) {
  return ((pipeline_curl_setopt)function)(handle, CURLOPT_READFUNCTION, callback);
}

static inline CURLcode pipeline_curl_set_progress(
    void *function, CURL *handle, pipeline_curl_progress callback) {
  return ((pipeline_curl_setopt)function)(handle, CURLOPT_XFERINFOFUNCTION, callback);
}

// A socket that programs started meanwhile don't inherit; libcurl's own are inherited.
static curl_socket_t pipeline_curl_socket(
    void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)context;
  (void)purpose;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode pipeline_curl_set_socket(void *function, CURL *handle) {
  return ((pipeline_curl_setopt)function)(
      handle, CURLOPT_OPENSOCKETFUNCTION, &pipeline_curl_socket);
}

static inline CURLcode pipeline_curl_get_long(
    void *function, CURL *handle, CURLINFO info, long *value) {
  return ((pipeline_curl_getinfo)function)(handle, info, value);
}

// Macros that Swift can't evaluate.
static const size_t pipeline_curl_read_abort = CURL_READFUNC_ABORT;
static const long pipeline_curl_global_all = CURL_GLOBAL_ALL;

#endif
