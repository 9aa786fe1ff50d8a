// The minimum cost of a relay with epoll, and with io_uring.
//   floor epoll|io_uring PORT TARGET_PORT
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "floor.h"

namespace {

sockaddr_in address_of(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int listen_on(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
  const sockaddr_in address = address_of(port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) || listen(fd, 4096)) {
    std::perror("listen");
    std::exit(1);
  }
  return fd;
}

}  // namespace

int main(int count, char** words) {
  const std::string kind = count == 4 ? words[1] : "";
  if (kind != "epoll" && kind != "io_uring") {
    std::fputs("floor epoll|io_uring PORT TARGET_PORT\n", stderr);
    return 2;
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const int listener = listen_on(std::atoi(words[2]));
  const sockaddr_in target = address_of(std::atoi(words[3]));
  kind == "epoll" ? relay_with_epoll(listener, target) : relay_with_io_uring(listener, target);
}
