#include "client-hello.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace sluice {

namespace {

using Bytes = std::span<const uint8_t>;
using HelloKind = ClientHello::Kind;

constexpr uint8_t kHandshakeRecord = 22;
constexpr size_t kRecordHeaderBytes = 5;
constexpr size_t kMaxRecordBytes = 1 << 14;
constexpr uint8_t kClientHello = 1;
constexpr size_t kMessageHeaderBytes = 4;
constexpr size_t kServerNameExtension = 0;
constexpr size_t kHostNameEntry = 0;

/** A bounds-checked reader. Missing bytes read as empty and set `is_short`. */
class Reader {
 public:
  explicit Reader(Bytes all) : rest_(all) {}

  size_t number(size_t size) {
    size_t sum = 0;
    for (const uint8_t byte : bytes(size)) sum = sum << 8 | byte;
    return sum;
  }
  Bytes bytes(size_t size) {
    if (size > rest_.size()) {
      is_short_ = true;
      rest_ = {};
      return {};
    }
    const Bytes found = rest_.first(size);
    rest_ = rest_.subspan(size);
    return found;
  }
  /** Reads a length, then as many bytes. */
  Bytes vector(size_t length_size) { return bytes(number(length_size)); }
  bool is_done() const { return rest_.empty(); }
  bool is_short() const { return is_short_; }

 private:
  Bytes rest_;
  bool is_short_ = false;
};

struct Message {
  std::vector<uint8_t> bytes;
  bool is_broken = false;
};

/** Joins the payloads of the leading handshake records; any other record makes the message broken. */
Message join_records(Bytes bytes) {
  Message message;
  while (!bytes.empty()) {
    const bool is_handshake = bytes[0] == kHandshakeRecord;
    const bool is_version = (bytes.size() < 2 || bytes[1] == 3) && (bytes.size() < 3 || bytes[2] <= 4);
    if (!is_handshake || !is_version) return {std::move(message.bytes), true};
    if (bytes.size() < kRecordHeaderBytes) break;
    const size_t length = size_t{bytes[3]} << 8 | bytes[4];
    if (length == 0 || length > kMaxRecordBytes) return {std::move(message.bytes), true};
    const Bytes fragment =
        bytes.subspan(kRecordHeaderBytes, std::min(length, bytes.size() - kRecordHeaderBytes));
    message.bytes.insert(message.bytes.end(), fragment.begin(), fragment.end());
    bytes = bytes.subspan(kRecordHeaderBytes + fragment.size());
  }
  return message;
}

bool is_label_character(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_' ||
         letter == '-';
}

/** True for labels separated by dots. */
bool is_host_name(const std::string& name) {
  bool was_label = false;
  for (const char letter : name) {
    if (!is_label_character(letter) && !(letter == '.' && was_label)) return false;
    was_label = is_label_character(letter);
  }
  return was_label;
}

std::string normalize(Bytes host) {
  std::string name(host.begin(), host.end());
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + ('a' - 'A'));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

ClientHello parse_server_name(Bytes extension) {
  Reader outer(extension);
  Reader list(outer.vector(2));
  while (!list.is_done()) {
    const size_t type = list.number(1);
    std::string host = normalize(list.vector(2));
    if (list.is_short() || outer.is_short()) return {HelloKind::not_tls, {}};
    if (type == kHostNameEntry)
      return is_host_name(host) ? ClientHello{HelloKind::named, std::move(host)} : ClientHello{HelloKind::nameless, {}};
  }
  return {HelloKind::nameless, {}};
}

ClientHello parse_body(Bytes body) {
  Reader hello(body);
  hello.bytes(2 + 32);                                     // version, random
  for (const size_t size : {1, 2, 1}) hello.vector(size);  // session, ciphers, compressions
  if (hello.is_done()) return {hello.is_short() ? HelloKind::not_tls : HelloKind::nameless, {}};

  Reader extensions(hello.vector(2));
  std::optional<Bytes> names;
  while (!extensions.is_done()) {
    const size_t type = extensions.number(2);
    const Bytes content = extensions.vector(2);
    if (type == kServerNameExtension && !names) names = content;
  }
  if (hello.is_short() || extensions.is_short() || !hello.is_done()) return {HelloKind::not_tls, {}};
  return names ? parse_server_name(*names) : ClientHello{HelloKind::nameless, {}};
}

}  // namespace

ClientHello ClientHello::read(Bytes bytes) {
  const auto [message, is_broken] = join_records(bytes);
  if (!message.empty() && message[0] != kClientHello) return {HelloKind::not_tls, {}};
  size_t length = kMessageHeaderBytes;
  for (size_t i = 1; i < kMessageHeaderBytes && i < message.size(); i++)
    length += size_t{message[i]} << (8 * (kMessageHeaderBytes - 1 - i));
  if (length > kMaxBytes) return {HelloKind::not_tls, {}};
  if (message.size() >= kMessageHeaderBytes && message.size() >= length)
    return parse_body(Bytes(message).subspan(kMessageHeaderBytes, length - kMessageHeaderBytes));
  return {is_broken ? HelloKind::not_tls : HelloKind::incomplete, {}};
}

}  // namespace sluice
