#include "notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace sluice {

int notify(const std::string& address, const std::string& text) {
  if (address.size() < 2 || (address[0] != '/' && address[0] != '@')) return -EAFNOSUPPORT;
  const bool is_abstract = address[0] == '@';
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  // A path ends with a zero byte; the length of an abstract name is that of the address.
  if (address.size() + (is_abstract ? 0 : 1) > sizeof(to.sun_path)) return -ENAMETOOLONG;
  if (address.find('\0') != std::string::npos) return -EINVAL;
  std::copy(address.begin(), address.end(), to.sun_path);
  if (is_abstract) to.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1));
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  const ssize_t sent = sendto(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&to), length);
  const int error = sent < 0 ? -errno : 0;
  close(fd);
  return error;
}

}  // namespace sluice
