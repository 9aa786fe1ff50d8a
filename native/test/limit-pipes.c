// An LD_PRELOAD library that limits the pipes of this process as fs.pipe-user-pages-soft limits those of a user (pipe(7)):
// beyond PIPE_BYTES a new pipe has 8 KiB, and none grows. At exit it writes the bytes that were spliced into pipes below
// 64 KiB and into larger ones to the file SPLICED.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDescriptors = 4096, kSmallBytes = 8192, kUsefulBytes = 65536 };

static long sizes[kDescriptors];  // of pipes, by the descriptor of the writing end
static long used;
static long spliced_small, spliced_large;

static long limit(void) { return atol(getenv("PIPE_BYTES")); }

static int real_fcntl(int fd, int command, long value) {
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, "fcntl");
  return real(fd, command, value);
}

static void account(int fd, long bytes) {
  if (fd < 0 || fd >= kDescriptors) return;
  __sync_add_and_fetch(&used, bytes - sizes[fd]);
  sizes[fd] = bytes;
}

int pipe2(int ends[2], int flags) {
  int (*real)(int[2], int) = dlsym(RTLD_NEXT, "pipe2");
  const int code = real(ends, flags);
  if (code == 0)
    account(ends[1], used >= limit() ? real_fcntl(ends[1], F_SETPIPE_SZ, kSmallBytes)
                                     : real_fcntl(ends[1], F_GETPIPE_SZ, 0));
  return code;
}

int close(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "close");
  account(fd, 0);
  return real(fd);
}

static int control(int fd, int command, long value) {
  if (command != F_SETPIPE_SZ) return real_fcntl(fd, command, value);
  if (used - sizes[fd] + value > limit()) {
    errno = EPERM;
    return -1;
  }
  const int bytes = real_fcntl(fd, command, value);
  if (bytes > 0) account(fd, bytes);
  return bytes;
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

ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t size, unsigned flags) {
  ssize_t (*real)(int, off64_t*, int, off64_t*, size_t, unsigned) = dlsym(RTLD_NEXT, "splice");
  const ssize_t count = real(from, from_offset, to, to_offset, size, flags);
  if (count > 0 && sizes[to] > 0) __sync_add_and_fetch(sizes[to] < kUsefulBytes ? &spliced_small : &spliced_large, count);
  return count;
}

__attribute__((destructor)) static void report(void) {
  FILE* file = fopen(getenv("SPLICED"), "w");
  if (!file) return;
  fprintf(file, "{\"small\":%ld,\"large\":%ld}", spliced_small, spliced_large);
  fclose(file);
}
