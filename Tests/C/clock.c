// A library to be preloaded that sets the wall clock of one process by a number of seconds that it reads from the file
// PIPELINE_CLOCK, as often as that changes. A wait until a moment of that clock ends when the clock shows the moment, as
// the kernel has it after clock_settime(2): set back, the clock makes the wait longer.
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "real.h"

static long offset(void) {
  static const char *path;
  if (!path) path = getenv("PIPELINE_CLOCK");
  FILE *file = path ? fopen(path, "re") : NULL;
  long seconds = 0;
  if (file) {
    if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    fclose(file);
  }
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  REAL(clock_gettime);
  int result = real(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec time;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict end) {
  const struct timespec pause = {0, 5000000};
  while (sem_trywait(semaphore) != 0) {
    struct timespec now;
    if (errno != EAGAIN) return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec)) {
      errno = ETIMEDOUT;
      return -1;
    }
    nanosleep(&pause, NULL);
  }
  return 0;
}
