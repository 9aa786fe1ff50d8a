// A system that refuses, for LD_PRELOAD: DENY_SPLICE=1 refuses splice, LARGEST_PIPE=BYTES larger pipes,
// DENY_FINE_WAIT=1 epoll_pwait2. Errno is EPERM.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>

enum { kEpollPwait2 = 441 };

static int refuse(void) {
  errno = EPERM;
  return -1;
}

ssize_t splice(int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags) {
  if (getenv("DENY_SPLICE")) return refuse();
  ssize_t (*real)(int, off64_t*, int, off64_t*, size_t, unsigned) = dlsym(RTLD_NEXT, "splice");
  return real(from, from_at, to, to_at, size, flags);
}

/** What is called by number, and takes at most six words. */
long syscall(long number, ...) {
  if (number == kEpollPwait2 && getenv("DENY_FINE_WAIT")) return refuse();
  long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (int i = 0; i < 6; i++) words[i] = va_arg(rest, long);
  va_end(rest);
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static int control(int fd, int command, long value) {
  const char* largest = getenv("LARGEST_PIPE");
  if (command == F_SETPIPE_SZ && largest && value > atol(largest)) return refuse();
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, "fcntl");
  return real(fd, command, value);
}

// Every command that is used takes a number or a pointer, or ignores what it is given.
#define VARIADIC(name)                      \
  int name(int fd, int command, ...) {      \
    va_list rest;                           \
    va_start(rest, command);                \
    long value = va_arg(rest, long);        \
    va_end(rest);                           \
    return control(fd, command, value);     \
  }
VARIADIC(fcntl)
VARIADIC(fcntl64)
