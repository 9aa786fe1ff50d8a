// An LD_PRELOAD library that simulates a kernel without memory for epoll watches (fs.epoll.max_user_watches), except in the
// main thread. FAIL_WATCHES_OF=connections fails watches of TCP connections. FAIL_WATCHES_OF=listener fails the first watch
// of a UDP socket.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int option(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -1 : value;
}

static int is_refused(int fd) {
  static atomic_int listeners;
  const char* what = getenv("FAIL_WATCHES_OF");
  if (!what || gettid() == getpid()) return 0;
  if (strcmp(what, "connections") == 0) return option(fd, SO_TYPE) == SOCK_STREAM && option(fd, SO_ACCEPTCONN) == 0;
  return option(fd, SO_TYPE) == SOCK_DGRAM && atomic_fetch_add(&listeners, 1) == 0;
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event* event) {
  if (operation == EPOLL_CTL_ADD && is_refused(fd)) {
    errno = ENOSPC;
    return -1;
  }
  int (*real)(int, int, int, struct epoll_event*) = dlsym(RTLD_NEXT, "epoll_ctl");
  return real(epoll, operation, fd, event);
}
