// An LD_PRELOAD library that appends a byte to the file LISTS each time the host's addresses are listed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <unistd.h>

int getifaddrs(struct ifaddrs** all) {
  int (*real)(struct ifaddrs**) = dlsym(RTLD_NEXT, "getifaddrs");
  const char* path = getenv("LISTS");
  const int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (file >= 0) {
    if (write(file, "x", 1) < 0) abort();
    close(file);
  }
  return real(all);
}
