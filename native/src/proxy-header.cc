#include "proxy-header.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crc32c.h"

namespace sluice {

namespace {

using HeaderKind = ProxyHeader::Kind;

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::string_view kTextStart("PROXY ");
constexpr size_t kMaxTextBytes = 107;  // including the line break
constexpr size_t kFixedBytes = 16;     // of version 2: signature, version, command, family, transport, length
enum Tlv : uint8_t { kAuthority = 2, kCrc32c = 3, kUniqueId = 5 };

ProxyHeader of_kind(HeaderKind kind, size_t size = 0) { return {.kind = kind, .size = size}; }

/** Refuses a source and a destination of different families. */
ProxyHeader named(size_t size, const Address& source, const Address& destination) {
  if (source.family != destination.family) return of_kind(HeaderKind::wrong);
  return {HeaderKind::named, size, source, destination};
}

std::optional<uint16_t> port_of(std::string_view text) {
  const bool has_leading_zero = text.size() > 1 && text[0] == '0';
  const bool is_number = text.find_first_not_of("0123456789") == text.npos;
  if (text.empty() || has_leading_zero || !is_number) return std::nullopt;
  uint16_t port = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), port).ec != std::errc{}) return std::nullopt;
  return port;
}

std::optional<Address> address_of(std::string_view text, std::string_view port_text, bool is_v6) {
  const auto port = port_of(port_text);
  const bool has_form = text.find_first_not_of("0123456789abcdefABCDEF:.") == text.npos;
  if (!port || !has_form || (text.find(':') != text.npos) != is_v6) return std::nullopt;
  return Address::parse(text, *port);
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t end; (end = line.find(' ')) != line.npos; line.remove_prefix(end + 1))
    words.push_back(line.substr(0, end));
  words.push_back(line);
  return words;
}

ProxyHeader read_text(std::string_view bytes) {
  const size_t end = bytes.substr(0, kMaxTextBytes).find("\r\n");
  if (end == bytes.npos) return of_kind(bytes.size() < kMaxTextBytes ? HeaderKind::incomplete : HeaderKind::wrong);
  const size_t size = end + 2;
  const auto words = split(bytes.substr(kTextStart.size(), end - kTextStart.size()));
  if (words.size() == 1 && words[0] == "UNKNOWN") return of_kind(HeaderKind::unnamed, size);
  const bool is_v6 = words[0] == "TCP6";
  if (words.size() != 5 || (!is_v6 && words[0] != "TCP4")) return of_kind(HeaderKind::wrong);
  const auto source = address_of(words[1], words[3], is_v6);
  const auto destination = address_of(words[2], words[4], is_v6);
  if (!source || !destination) return of_kind(HeaderKind::wrong);
  return named(size, *source, *destination);
}

size_t number_at(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]) << 8 | static_cast<uint8_t>(bytes[at + 1]);
}

bool has_checksum(std::string_view header, size_t at) {
  std::string zeroed(header);
  zeroed.replace(at, 4, 4, '\0');
  return crc32c(zeroed) == (number_at(header, at) << 16 | number_at(header, at + 2));
}

/** Checks the type-length-value parts from `at` to the end of the header. */
bool are_values_right(std::string_view header, size_t at) {
  while (at < header.size()) {
    if (header.size() - at < 3) return false;
    const auto type = static_cast<uint8_t>(header[at]);
    const size_t size = number_at(header, at + 1);
    at += 3;
    if (header.size() - at < size) return false;
    if (type == kCrc32c && (size != 4 || !has_checksum(header, at))) return false;
    if ((type == kAuthority && size > 255) || (type == kUniqueId && size > 128)) return false;
    at += size;
  }
  return true;
}

ProxyHeader read_block(std::string_view header, unsigned family) {
  const size_t values_at = kFixedBytes + (family == 1 ? 12 : 36);
  if (header.size() < values_at || !are_values_right(header, values_at)) return of_kind(HeaderKind::wrong);
  const Family ip = family == 1 ? Family::v4 : Family::v6;
  const size_t width = family == 1 ? 4 : 16;
  const auto* bytes = reinterpret_cast<const uint8_t*>(header.data()) + kFixedBytes;
  const auto port_at = [&](size_t at) { return static_cast<uint16_t>(number_at(header, at)); };
  return named(header.size(), Address::from_bytes(bytes, ip, port_at(values_at - 4)),
               Address::from_bytes(bytes + width, ip, port_at(values_at - 2)));
}

ProxyHeader read_binary(std::string_view bytes, ProxyHeader::Carrier carrier) {
  const auto byte_at = [&](size_t at) -> unsigned { return static_cast<uint8_t>(bytes[at]); };
  const unsigned command = bytes.size() > 12 ? byte_at(12) : 0x20;
  const unsigned kind = bytes.size() > 13 ? byte_at(13) : 0;
  const unsigned family = kind >> 4;
  const unsigned transport = kind & 15;
  if (command != 0x20 && command != 0x21) return of_kind(HeaderKind::wrong);
  // The receiver of a LOCAL command ignores the family.
  const bool is_unnamed = command == 0x20 || family == 0;
  const bool is_known = transport == 1 || (transport == 2 && carrier == ProxyHeader::Carrier::datagram);
  if (!is_unnamed && (family > 2 || !is_known)) return of_kind(HeaderKind::wrong);
  if (bytes.size() < kFixedBytes) return of_kind(HeaderKind::incomplete);
  const size_t size = kFixedBytes + number_at(bytes, 14);
  if (size > ProxyHeader::kMaxBytes) return of_kind(HeaderKind::wrong);
  if (bytes.size() < size) return of_kind(HeaderKind::incomplete);
  if (is_unnamed) return of_kind(HeaderKind::unnamed, size);
  return read_block(bytes.substr(0, size), family);
}

/** True if one begins with the other. */
bool agree(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  return a.substr(0, size) == b.substr(0, size);
}

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ProxyHeader ProxyHeader::read(std::span<const uint8_t> bytes, Carrier carrier) {
  const std::string_view text = text_of(bytes);
  const bool is_text = agree(text, kTextStart);
  if (!is_text && !agree(text, kSignature)) return of_kind(HeaderKind::wrong);
  if (text.size() < (is_text ? kTextStart : kSignature).size()) return of_kind(HeaderKind::incomplete);
  return is_text ? read_text(text) : read_binary(text, carrier);
}

bool ProxyHeader::is_binary(std::span<const uint8_t> bytes) { return text_of(bytes).starts_with(kSignature); }

}  // namespace sluice
