#include "hello.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace sluice {

namespace {

using Bytes = std::span<const uint8_t>;
using Kind = Hello::Kind;

constexpr uint8_t kHandshakeRecord = 22;
constexpr size_t kRecordHeaderBytes = 5;
constexpr size_t kMostRecordBytes = 1 << 14;
constexpr uint8_t kClientHello = 1;
constexpr size_t kMessageHeaderBytes = 4;
constexpr size_t kServerName = 0;  // the extension
constexpr size_t kHostName = 0;    // an entry of it

/** Never reads past its bytes: what is not there reads as nothing, and is remembered. */
class Reader {
 public:
  explicit Reader(Bytes all) : left_(all) {}

  size_t number(size_t size) {
    size_t sum = 0;
    for (const uint8_t byte : bytes(size)) sum = sum << 8 | byte;
    return sum;
  }
  Bytes bytes(size_t size) {
    if (size > left_.size()) {
      is_short_ = true;
      left_ = {};
      return {};
    }
    const Bytes found = left_.first(size);
    left_ = left_.subspan(size);
    return found;
  }
  /** A length, then as many bytes. */
  Bytes vector(size_t length_size) { return bytes(number(length_size)); }
  bool is_done() const { return left_.empty(); }
  bool is_short() const { return is_short_; }

 private:
  Bytes left_;
  bool is_short_ = false;
};

struct Message {
  std::vector<uint8_t> bytes;
  bool is_broken = false;
};

/** What the handshake records in front carry, put together; broken off by anything else. */
Message unwrap(Bytes bytes) {
  Message message;
  while (!bytes.empty()) {
    const bool is_handshake = bytes[0] == kHandshakeRecord;
    const bool is_version = (bytes.size() < 2 || bytes[1] == 3) && (bytes.size() < 3 || bytes[2] <= 4);
    if (!is_handshake || !is_version) return {std::move(message.bytes), true};
    if (bytes.size() < kRecordHeaderBytes) break;
    const size_t length = size_t{bytes[3]} << 8 | bytes[4];
    if (length == 0 || length > kMostRecordBytes) return {std::move(message.bytes), true};
    const Bytes part = bytes.subspan(kRecordHeaderBytes, std::min(length, bytes.size() - kRecordHeaderBytes));
    message.bytes.insert(message.bytes.end(), part.begin(), part.end());
    bytes = bytes.subspan(kRecordHeaderBytes + part.size());
  }
  return message;
}

bool is_word(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_' ||
         letter == '-';
}

/** Words with dots between them. */
bool is_name(const std::string& name) {
  bool was_word = false;
  for (const char letter : name) {
    if (!is_word(letter) && !(letter == '.' && was_word)) return false;
    was_word = is_word(letter);
  }
  return was_word;
}

std::string lower(Bytes host) {
  std::string name(host.begin(), host.end());
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + ('a' - 'A'));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

Hello host_in(Bytes extension) {
  Reader outer(extension);
  Reader list(outer.vector(2));
  while (!list.is_done()) {
    const size_t type = list.number(1);
    std::string host = lower(list.vector(2));
    if (list.is_short() || outer.is_short()) return {Kind::not_tls, {}};
    if (type == kHostName)
      return is_name(host) ? Hello{Kind::named, std::move(host)} : Hello{Kind::nameless, {}};
  }
  return {Kind::nameless, {}};
}

Hello name_in(Bytes body) {
  Reader hello(body);
  hello.bytes(2 + 32);                                     // version, random
  for (const size_t size : {1, 2, 1}) hello.vector(size);  // session, ciphers, compressions
  if (hello.is_done()) return {hello.is_short() ? Kind::not_tls : Kind::nameless, {}};

  Reader extensions(hello.vector(2));
  std::optional<Bytes> names;
  while (!extensions.is_done()) {
    const size_t type = extensions.number(2);
    const Bytes content = extensions.vector(2);
    if (type == kServerName && !names) names = content;
  }
  if (hello.is_short() || extensions.is_short() || !hello.is_done()) return {Kind::not_tls, {}};
  return names ? host_in(*names) : Hello{Kind::nameless, {}};
}

}  // namespace

Hello Hello::read(Bytes bytes) {
  const auto [message, is_broken] = unwrap(bytes);
  if (!message.empty() && message[0] != kClientHello) return {Kind::not_tls, {}};
  size_t length = kMessageHeaderBytes;
  for (size_t i = 1; i < kMessageHeaderBytes && i < message.size(); i++)
    length += size_t{message[i]} << (8 * (kMessageHeaderBytes - 1 - i));
  if (length > kMostBytes) return {Kind::not_tls, {}};
  if (message.size() >= kMessageHeaderBytes && message.size() >= length)
    return name_in(Bytes(message).subspan(kMessageHeaderBytes, length - kMessageHeaderBytes));
  return {is_broken ? Kind::not_tls : Kind::incomplete, {}};
}

}  // namespace sluice
