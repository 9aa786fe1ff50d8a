#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sluice {

namespace {

constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

Address of_v6(const in6_addr& raw, uint16_t port) {
  Address address;
  address.port = port;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&raw);
  if (std::equal(kMapped.begin(), kMapped.end(), bytes)) {
    std::copy_n(bytes + kMapped.size(), 4, address.bytes.begin());
    return address;
  }
  address.family = Family::v6;
  std::copy_n(bytes, 16, address.bytes.begin());
  return address;
}

/** A form of IPv6 addresses that lead to an IPv4 address; see kernel/platform/address-forms.ts. */
struct Transition {
  std::array<uint8_t, 12> prefix;
  size_t prefix_size;
  std::array<size_t, 4> places;  // of the bytes of the IPv4 address
  size_t zeros_from = 16;        // this byte and all after it are 0
  uint8_t mask = 0;
};

constexpr std::array kTransitions{
    Transition{{0, 0x64, 0xff, 0x9b}, 12, {12, 13, 14, 15}},              // NAT64, RFC 6052
    Transition{{0, 0x64, 0xff, 0x9b, 0, 1}, 6, {6, 7, 9, 10}, 11},        // NAT64 with a local prefix, RFC 8215: /48
    Transition{{0, 0x64, 0xff, 0x9b, 0, 1}, 6, {7, 9, 10, 11}, 12},       // /56
    Transition{{0, 0x64, 0xff, 0x9b, 0, 1}, 6, {9, 10, 11, 12}, 13},      // /64
    Transition{{0, 0x64, 0xff, 0x9b, 0, 1}, 6, {12, 13, 14, 15}},         // /96
    Transition{{0x20, 0x02}, 2, {2, 3, 4, 5}},                            // 6to4, RFC 3056
    Transition{{0x20, 0x01}, 4, {12, 13, 14, 15}, 16, 0xff},              // Teredo, RFC 4380: inverted
    Transition{{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 12, {12, 13, 14, 15}},  // SIIT, RFC 2765
    Transition{{}, 12, {12, 13, 14, 15}},                                 // IPv4-compatible, RFC 4291
};

bool has_form(const std::array<uint8_t, 16>& bytes, const Transition& form) {
  return std::equal(bytes.begin(), bytes.begin() + form.prefix_size, form.prefix.begin()) &&
         std::all_of(bytes.begin() + form.zeros_from, bytes.end(), [](uint8_t byte) { return byte == 0; });
}

}  // namespace

std::optional<Address> Address::parse(std::string_view text, uint16_t port) {
  const std::string bare(text.substr(0, text.find('%')));
  in6_addr six;
  if (inet_pton(AF_INET6, bare.c_str(), &six) == 1) return of_v6(six, port);
  Address address;
  address.port = port;
  if (inet_pton(AF_INET, bare.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

Address Address::from_bytes(const uint8_t* bytes, Family family, uint16_t port) {
  if (family == Family::v6) {
    in6_addr six;
    std::memcpy(&six, bytes, sizeof six);
    return of_v6(six, port);
  }
  Address address;
  address.port = port;
  std::copy_n(bytes, 4, address.bytes.begin());
  return address;
}

Address Address::from(const sockaddr_storage& raw) {
  if (raw.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(raw);
    return of_v6(six.sin6_addr, ntohs(six.sin6_port));
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(raw);
  Address address;
  address.port = ntohs(four.sin_port);
  std::memcpy(address.bytes.data(), &four.sin_addr, 4);
  return address;
}

socklen_t Address::to(sockaddr_storage& raw) const {
  if (family == Family::v6) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&six.sin6_addr, bytes.data(), 16);
    std::memcpy(&raw, &six, sizeof six);
    return sizeof six;
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  std::memcpy(&four.sin_addr, bytes.data(), 4);
  std::memcpy(&raw, &four, sizeof four);
  return sizeof four;
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family == Family::v6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
  return text.data();
}

bool Address::is_loopback() const {
  if (family == Family::v4) return bytes[0] == 127;
  return bytes[15] == 1 &&
         std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t byte) { return byte == 0; });
}

std::optional<Address> Address::embedded_ipv4() const {
  if (family == Family::v4 || is_unspecified() || is_loopback()) return std::nullopt;
  const auto form = std::ranges::find_if(kTransitions, [&](const Transition& one) { return has_form(bytes, one); });
  if (form == kTransitions.end()) return std::nullopt;
  Address four;
  four.port = port;
  for (size_t i = 0; i < 4; i++) four.bytes[i] = bytes[form->places[i]] ^ form->mask;
  return four;
}

Address Address::with_port(uint16_t other) const {
  Address address = *this;
  address.port = other;
  return address;
}

Address Address::network(unsigned bits) const {
  Address address = *this;
  for (unsigned i = 0; i < address.bytes.size(); i++)
    if (8 * (i + 1) > bits) address.bytes[i] &= static_cast<uint8_t>(8 * i >= bits ? 0 : 0xff << (8 * (i + 1) - bits));
  return address;
}

std::optional<Prefix> Prefix::parse(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  if (host.find('%') != std::string_view::npos) return std::nullopt;
  const auto base = Address::parse(host);
  if (!base) return std::nullopt;
  const unsigned full = base->family == Family::v4 ? 32 : 128;
  if (slash == std::string_view::npos) return Prefix{*base, full};

  const std::string_view length = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (error != std::errc{} || end != length.data() + length.size() || length.size() > 3) return std::nullopt;
  // The length of an IPv4-mapped prefix includes the 96 bits in front of the IPv4 address.
  const unsigned skipped = full == 32 && host.find(':') != std::string_view::npos ? 96 : 0;
  if (bits < skipped || bits - skipped > full) return std::nullopt;
  return Prefix{*base, bits - skipped};
}

bool Prefix::contains(const Address& address) const {
  if (address.family != base.family) return false;
  const size_t whole = bits / 8;
  if (!std::equal(base.bytes.begin(), base.bytes.begin() + whole, address.bytes.begin())) return false;
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<uint8_t>(0xff << (8 - rest));
  return ((base.bytes[whole] ^ address.bytes[whole]) & mask) == 0;
}

std::vector<Address> interleave(const std::vector<Address>& addresses, bool prefer_ipv6) {
  if (addresses.empty()) return {};
  const Family leading = prefer_ipv6 ? Family::v6 : addresses.front().family;
  std::vector<Address> lead;
  std::vector<Address> follow;
  for (const Address& address : addresses) (address.family == leading ? lead : follow).push_back(address);
  std::vector<Address> alternating;
  for (size_t i = 0; i < std::max(lead.size(), follow.size()); i++) {
    if (i < lead.size()) alternating.push_back(lead[i]);
    if (i < follow.size()) alternating.push_back(follow[i]);
  }
  return alternating;
}

}  // namespace sluice
