#include "preamble.h"

#include <optional>

#include "crc32c.h"

namespace sluice {

namespace {

constexpr size_t kMaxNameBytes = 255;
constexpr size_t kUsualBytes = 128;

std::string big_endian(uint32_t value, int width) {
  std::string bytes;
  while (width-- > 0) bytes += static_cast<char>(value >> (8 * width) & 255);
  return bytes;
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += digits[static_cast<uint8_t>(byte) >> 4];
    text += digits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

class Writer {
 public:
  explicit Writer(const Preamble::Values& values) : values_(values) { bytes_.reserve(kUsualBytes); }

  std::string write(const std::vector<PreamblePart>& parts) {
    put(parts);
    if (checksum_at_) bytes_.replace(*checksum_at_, 4, big_endian(crc32c(bytes_), 4));
    return std::move(bytes_);
  }

 private:
  void put(const std::vector<PreamblePart>& parts) {
    for (const PreamblePart& part : parts) put(part);
  }
  void put(const PreamblePart& part) {
    using Kind = PreamblePart::Kind;
    switch (part.kind) {
      case Kind::bytes: bytes_ += part.bytes; return;
      case Kind::source_address: return put_address(values_.source, part.is_text);
      case Kind::source_port: return put_port(values_.source, part.is_text);
      case Kind::listen_address: return put_address(values_.listen, part.is_text);
      case Kind::listen_port: return put_port(values_.listen, part.is_text);
      case Kind::server_name: bytes_ += name(); return;
      case Kind::connection_id: return put_id(part.is_text);
      case Kind::length: return put_with_length(part);
      case Kind::when_named:
        if (!name().empty()) put(part.parts);
        return;
      case Kind::crc32c:
        checksum_at_ = bytes_.size();
        bytes_.append(4, '\0');
    }
  }
  void put_address(const Address& address, bool is_text) {
    const size_t size = address.family == Family::v6 ? 16 : 4;
    if (is_text)
      bytes_ += address.text();
    else
      bytes_.append(reinterpret_cast<const char*>(address.bytes.data()), size);
  }
  void put_port(const Address& address, bool is_text) {
    bytes_ += is_text ? std::to_string(address.port) : big_endian(address.port, 2);
  }
  void put_id(bool is_text) {
    const std::string_view id(values_.connection_id.data(), values_.connection_id.size());
    if (is_text)
      bytes_ += hexadecimal(id);
    else
      bytes_ += id;
  }
  void put_with_length(const PreamblePart& part) {
    const size_t at = bytes_.size();
    bytes_.append(part.length_bytes, '\0');
    put(part.parts);
    const auto length = static_cast<uint32_t>(bytes_.size() - at - part.length_bytes);
    bytes_.replace(at, part.length_bytes, big_endian(length, part.length_bytes));
  }
  std::string_view name() const {
    return values_.server_name.size() > kMaxNameBytes ? std::string_view() : values_.server_name;
  }

  const Preamble::Values& values_;
  std::string bytes_;
  std::optional<size_t> checksum_at_;
};

}  // namespace

std::string Preamble::write(const Values& values) const {
  return Writer(values).write(values.source.family == Family::v6 ? ipv6 : ipv4);
}

}  // namespace sluice
