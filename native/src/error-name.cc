// strerrorname_np() exists only in glibc 2.32 and newer.
#include "error-name.h"

#include <cerrno>

namespace sluice {

#define NAME(error) \
  case error:       \
    return #error

std::string error_name(int error) {
  switch (error) {
    NAME(EACCES);
    NAME(EADDRINUSE);
    NAME(EADDRNOTAVAIL);
    NAME(EAFNOSUPPORT);
    NAME(EAGAIN);
    NAME(EBADF);
    NAME(EBUSY);
    NAME(ECONNREFUSED);
    NAME(ECONNRESET);
    NAME(EHOSTDOWN);
    NAME(EHOSTUNREACH);
    NAME(EINVAL);
    NAME(EIO);
    NAME(EMFILE);
    NAME(EMSGSIZE);
    NAME(ENAMETOOLONG);
    NAME(ENETDOWN);
    NAME(ENETUNREACH);
    NAME(ENFILE);
    NAME(ENOBUFS);
    NAME(ENOENT);
    NAME(ENOMEM);
    NAME(ENOPROTOOPT);
    NAME(ENOSYS);
    NAME(EOPNOTSUPP);
    NAME(EPERM);
    NAME(EPIPE);
    NAME(EPROTO);
    NAME(EPROTOTYPE);
    NAME(ESPIPE);
    NAME(ETIMEDOUT);
  }
  return "errno " + std::to_string(error);
}

#undef NAME

}  // namespace sluice
