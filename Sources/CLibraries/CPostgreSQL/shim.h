// libpq, the client library of PostgreSQL, opened when a catalog is in PostgreSQL.
//
// Never linked: it and what it needs would be loaded at each start of the program and of its workers.

#ifndef PIPELINE_POSTGRESQL_SHIM_H
#define PIPELINE_POSTGRESQL_SHIM_H

#include <dlfcn.h>
#include <postgresql/libpq-fe.h>

// The functions that the program calls, for a list that is written once.
#define PIPELINE_POSTGRESQL_FUNCTIONS(F) \
  F(PQconnectStartParams) F(PQconnectPoll) F(PQfinish) F(PQstatus) F(PQerrorMessage) \
  F(PQhost) F(PQhostaddr) F(PQport) F(PQconninfo) F(PQconninfoParse) F(PQconndefaults) \
  F(PQconninfoFree) F(PQfreemem) \
  F(PQsocket) F(PQtransactionStatus) F(PQserverVersion) F(PQparameterStatus) \
  F(PQsetNoticeReceiver) F(PQsetErrorVerbosity) F(PQdb) F(PQsetnonblocking) F(PQflush) \
  F(PQsendQuery) F(PQsendQueryParams) F(PQsendPrepare) F(PQsendQueryPrepared) \
  F(PQenterPipelineMode) F(PQexitPipelineMode) F(PQpipelineSync) F(PQsendFlushRequest) \
  F(PQconsumeInput) F(PQisBusy) F(PQgetResult) F(PQnotifies) F(PQbackendPID) \
  F(PQgetCancel) F(PQcancel) F(PQfreeCancel) \
  F(PQresultStatus) F(PQresultErrorField) F(PQclear) F(PQcmdTuples) F(PQcmdStatus) \
  F(PQntuples) F(PQnfields) F(PQftype) F(PQgetisnull) F(PQgetlength) F(PQgetvalue) \
  F(PQconnectionNeedsPassword) F(PQconnectionUsedPassword)

#define PIPELINE_POSTGRESQL_MEMBER(name) __typeof__(&name) name;

struct pipeline_postgresql {
  PIPELINE_POSTGRESQL_FUNCTIONS(PIPELINE_POSTGRESQL_MEMBER)
};

#undef PIPELINE_POSTGRESQL_MEMBER

// Finds all functions in an open library; returns the name of one that it lacks, or NULL.
static inline const char *pipeline_postgresql_find(
    void *library, struct pipeline_postgresql *functions) {
#define PIPELINE_POSTGRESQL_FIND(name) \
  if ((functions->name = (__typeof__(&name))dlsym(library, #name)) == NULL) return #name;
  PIPELINE_POSTGRESQL_FUNCTIONS(PIPELINE_POSTGRESQL_FIND)
#undef PIPELINE_POSTGRESQL_FIND
  return NULL;
}

#endif
