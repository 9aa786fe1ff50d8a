// An LD_PRELOAD library that sets the wall clock ahead by the nanoseconds in the file CLOCK_AHEAD, an int64. Each call
// reads the file, also in signal handlers, where PostgreSQL sets its timers. CLOCK_MONOTONIC does not change.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t kSecond = 1000000000;

static const _Atomic int64_t* ahead;
static int (*real_clock_gettime)(clockid_t, struct timespec*);

__attribute__((constructor)) static void open_clock(void) {
  real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const char* path = getenv("CLOCK_AHEAD");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void* page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    perror("CLOCK_AHEAD");
    _exit(127);
  }
  close(fd);
  ahead = page;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  if (!real_clock_gettime) open_clock();  // a constructor of another library asks
  int status = real_clock_gettime(clock, now);
  if (status != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return status;
  int64_t at = now->tv_sec * kSecond + now->tv_nsec + atomic_load(ahead);
  now->tv_sec = at / kSecond;
  now->tv_nsec = at % kSecond;
  return 0;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;  // obsolete, see gettimeofday(2)
  struct timespec at;
  int status = clock_gettime(CLOCK_REALTIME, &at);
  now->tv_sec = at.tv_sec;
  now->tv_usec = at.tv_nsec / 1000;
  return status;
}

time_t time(time_t* now) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  if (now) *now = at.tv_sec;
  return at.tv_sec;
}
