#include "udp-sys.h"

#include <netinet/in.h>

#include <cerrno>

#include "sys.h"

namespace sluice::sys {

namespace {
constexpr int kReceiveBufferBytes = 1 << 20;
}

void allow_fragments(int socket, Family family) {
  const bool is_ipv6 = family == Family::v6;
  const int discover = is_ipv6 ? IPV6_PMTUDISC_DONT : IP_PMTUDISC_DONT;
  if (is_ipv6)
    setsockopt(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &discover, sizeof discover);
  else
    setsockopt(socket, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
}

int connect_datagram(const Address& target, const Address* from, Fd& socket) {
  sockaddr_storage raw{};
  const socklen_t size = target.to(raw);
  socket = Fd(::socket(raw.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return -errno;
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
  allow_fragments(socket.get(), target.family);
  if (from != nullptr)
    if (const int error = bind_source(socket.get(), *from)) return error;
  return connect(socket.get(), reinterpret_cast<sockaddr*>(&raw), size) < 0 ? -errno : 0;
}

int receive_many(int socket, mmsghdr* messages, int count) {
  const int got = recvmmsg(socket, messages, count, MSG_DONTWAIT, nullptr);
  return got < 0 ? -errno : got;
}

int send_many(int socket, mmsghdr* messages, int count) {
  const int sent = sendmmsg(socket, messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? -errno : sent;
}

int send_one(int socket, const msghdr& message) {
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

}  // namespace sluice::sys
