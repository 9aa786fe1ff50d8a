// The datagrams of simulated callers and targets. Each carries a stamp that identifies its sender.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sluice::fake {

inline constexpr int kCallers = 10;  // the first half over IPv4
inline constexpr int kPorts = 2;
inline constexpr int kLocalAddresses = 4;
inline constexpr uint16_t kFirstPort = 5000;
inline constexpr std::array<size_t, 12> kSizes{0, 1, 8, 8, 64, 64, 64, 100, 1200, 1200, 1472, 65'507};

inline bool is_ipv4(int caller) { return caller < kCallers / 2; }

/** The first bytes of every datagram that is long enough; the rest is a pattern derived from it. */
struct Stamp {
  uint16_t from;  // a caller, or the descriptor of a target's socket
  uint8_t port;
  uint8_t local;  // the address of the host that a caller sends to
  uint32_t number;
};

inline std::vector<std::byte> datagram(Stamp stamp, size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; i++) bytes[i] = static_cast<std::byte>(stamp.number * 7 + i);
  if (size >= sizeof stamp) std::memcpy(bytes.data(), &stamp, sizeof stamp);
  return bytes;
}

template <class Info>
std::vector<std::byte> control_of(int level, int type, const Info& info) {
  std::vector<std::byte> control(CMSG_SPACE(sizeof info));
  auto* head = reinterpret_cast<cmsghdr*>(control.data());
  *head = {CMSG_LEN(sizeof info), level, type};
  std::memcpy(CMSG_DATA(head), &info, sizeof info);
  return control;
}

/** Returns the PKTINFO of a local address, as received or for a reply. IPv6 3 is multicast. */
inline std::vector<std::byte> pktinfo_of(int caller, int local, bool is_reply) {
  if (is_ipv4(caller)) {
    in_pktinfo info{};
    if (!is_reply) info.ipi_ifindex = 7;
    if (!is_reply) info.ipi_addr.s_addr = htonl(0xffffffff);
    info.ipi_spec_dst.s_addr = htonl(0x0a000000u + static_cast<unsigned>(local));
    return control_of(IPPROTO_IP, IP_PKTINFO, info);
  }
  in6_pktinfo info{};
  auto* bytes = info.ipi6_addr.s6_addr;
  if (local == 3) bytes[0] = 0xff;
  else if (local == 2) bytes[0] = 0xfe, bytes[1] = 0x80;
  else bytes[0] = 0x20;
  bytes[15] = static_cast<uint8_t>(local);
  info.ipi6_ifindex = is_reply && local != 2 ? 0 : 7;
  if (is_reply && local == 3) return {};
  return control_of(IPPROTO_IPV6, IPV6_PKTINFO, info);
}

inline sockaddr_in6 source_of(int caller, socklen_t& size) {
  sockaddr_in6 raw{};
  if (is_ipv4(caller)) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(static_cast<uint16_t>(1000 + caller / 2));
    ipv4.sin_addr.s_addr = htonl(0xc6336400u + static_cast<unsigned>(caller % 2));
    std::memcpy(&raw, &ipv4, size = sizeof ipv4);
    return raw;
  }
  raw.sin6_family = AF_INET6;
  raw.sin6_port = htons(1000);
  raw.sin6_addr.s6_addr[0] = 0xfe;
  raw.sin6_addr.s6_addr[1] = 0x80;
  raw.sin6_scope_id = static_cast<uint32_t>(caller);  // one address on several links
  size = sizeof raw;
  return raw;
}

}  // namespace sluice::fake
