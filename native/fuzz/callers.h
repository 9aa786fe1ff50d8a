// Real callers and targets on the loopback network, for the engine that the fuzzer commands.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "../src/sys.h"
#include "script.h"

namespace sluice::fake {

/** Addresses that nobody else uses. */
inline constexpr const char* kEngineHost = "127.77.0.1";
inline constexpr const char* kTargetHost = "127.77.0.2";
inline constexpr uint16_t kTargetPort = 9000;
inline constexpr int kTargetPorts = 3;

inline sockaddr_in place_at(const char* host, uint16_t port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  inet_pton(AF_INET, host, &place.sin_addr);
  return place;
}

/** What a TLS client says first when it asks for this name. */
inline std::string hello_of(const std::string& name) {
  const auto sized = [](const std::string& text, int bytes) {
    std::string all;
    while (bytes-- > 0) all += static_cast<char>(text.size() >> (8 * bytes) & 255);
    return all + text;
  };
  const std::string names = sized(std::string(1, '\0') + sized(name, 2), 2);
  const std::string extensions = sized(std::string(2, '\0') + sized(names, 2), 2);
  const std::string body = "\x03\x03" + std::string(32, 'r') + sized("", 1) + sized("\x13\x01", 2) +
                           sized(std::string(1, '\0'), 1) + extensions;
  return "\x16\x03\x01" + sized("\x01" + sized(body, 3), 2);
}

/** Who has called, and whom a target has taken; each is driven by the script, and none ever waits. */
class Crowd {
 public:
  Crowd() {
    for (int i = 0; i < kTargetPorts; i++) {
      const auto port = static_cast<uint16_t>(kTargetPort + i);
      Fd socket;
      const auto place = *Address::parse(kTargetHost, port);
      must(sys::listen_on(sys::Protocol::tcp, place, sys::Sharing::exclusive, socket) == 0, "a target listens");
      listeners_.push_back(std::move(socket));
    }
  }

  void call(uint16_t port, const std::string& words) {
    if (ends_.size() >= 40) ends_.erase(ends_.begin());
    Fd socket;
    if (sys::connect_to(*Address::parse(kEngineHost, port), socket) != 0) return;
    sys::transmit(socket.get(), words.data(), words.size());
    ends_.push_back(std::move(socket));
  }
  void say_to(uint16_t port, size_t size) {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const sockaddr_in to = place_at(kEngineHost, port);
    sendto(socket.get(), bytes_.data(), size, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  void accept() {
    for (const Fd& listener : listeners_)
      for (;;) {
        Address caller;
        Fd socket;
        if (sys::accept_from(listener.get(), caller, socket) != 0) break;
        ends_.push_back(std::move(socket));
      }
  }
  /** One end hears and says; or ends, one way or another. */
  void act(uint8_t who, uint8_t what) {
    if (ends_.empty()) return;
    const auto chosen = ends_.begin() + who % static_cast<ptrdiff_t>(ends_.size());
    const int fd = chosen->get();
    const ssize_t heard = sys::receive(fd, bytes_.data(), bytes_.size());
    if (what % 8 < 5) {
      sys::transmit(fd, bytes_.data(), std::max<size_t>(heard > 0 ? heard : 0, size_t{1} << what / 8 % 18));
    } else if (what % 8 == 5) {
      sys::shut_write(fd);
    } else {
      if (what % 8 == 6) sys::arm_reset(fd);
      ends_.erase(chosen);
    }
  }

 private:
  std::vector<Fd> listeners_;
  std::vector<Fd> ends_;
  std::vector<char> bytes_ = std::vector<char>(1 << 18);
};

/** Does anybody listen there? */
inline bool is_shut(uint16_t port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = place_at(kEngineHost, port);
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0;
}

}  // namespace sluice::fake
