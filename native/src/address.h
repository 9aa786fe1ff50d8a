// An IP address with a port, in one canonical form: without an IPv6 zone, IPv4-mapped IPv6 as IPv4.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class Family : uint8_t { v4, v6 };

struct Address {
  std::array<uint8_t, 16> bytes{};  // IPv4 uses the first four; the others are 0
  Family family = Family::v4;
  uint16_t port = 0;

  static std::optional<Address> parse(std::string_view text, uint16_t port = 0);
  static Address from(const sockaddr_storage& raw);
  /** Builds an address from 4 or 16 bytes in network order. */
  static Address from_bytes(const uint8_t* bytes, Family family, uint16_t port);
  socklen_t to(sockaddr_storage& raw) const;

  bool same_host(const Address& other) const { return family == other.family && bytes == other.bytes; }
  bool operator==(const Address& other) const = default;
  bool is_unspecified() const { return bytes == std::array<uint8_t, 16>{}; }
  bool is_loopback() const;
  /** Returns the IPv4 address that a translator or tunnel makes of this IPv6 address, with its port; null: none. */
  std::optional<Address> embedded_ipv4() const;
  Address with_port(uint16_t other) const;
  /** Returns a copy with all bits after the first `bits` cleared. */
  Address network(unsigned bits) const;
  std::string text() const;  // without the port
};

/** An address prefix such as '10.0.0.0/8'; a bare address is a prefix of full length. */
struct Prefix {
  Address base;
  unsigned bits = 0;

  static std::optional<Prefix> parse(std::string_view text);
  bool contains(const Address& address) const;
  bool operator==(const Prefix& other) const = default;
};

/** Alternates address families (RFC 8305). Begins with IPv6 if preferred, else with the first address. */
std::vector<Address> interleave(const std::vector<Address>& addresses, bool prefer_ipv6);

}  // namespace sluice
