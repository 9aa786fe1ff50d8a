// An LD_PRELOAD library that makes system calls fail with EPERM: DENY_SPLICE=1 refuses splice, LARGEST_PIPE=BYTES
// refuses larger pipes, DENY_FINE_WAIT=1 refuses epoll_pwait2.
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

ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t size, unsigned flags) {
  if (getenv("DENY_SPLICE")) return refuse();
  ssize_t (*real)(int, off64_t*, int, off64_t*, size_t, unsigned) = dlsym(RTLD_NEXT, "splice");
  return real(from, from_offset, to, to_offset, size, flags);
}

/** Handles calls by number, which have at most six arguments. */
long syscall(long number, ...) {
  if (number == kEpollPwait2 && getenv("DENY_FINE_WAIT")) return refuse();
  long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
  va_list rest;
  va_start(rest, number);
  long arguments[6];
  for (int i = 0; i < 6; i++) arguments[i] = va_arg(rest, long);
  va_end(rest);
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

static int control(int fd, int command, long value) {
  const char* largest = getenv("LARGEST_PIPE");
  if (command == F_SETPIPE_SZ && largest && value > atol(largest)) return refuse();
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, "fcntl");
  return real(fd, command, value);
}

// Every fcntl command in use takes one number or pointer, or ignores its argument.
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
