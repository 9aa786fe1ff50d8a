// Real callers and targets on the loopback network, for the engine that the fuzzer drives.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "../src/sys.h"
#include "input.h"

namespace sluice::fake {

/** Addresses that nothing else uses. */
inline constexpr const char* kEngineHost = "127.77.0.1";
inline constexpr const char* kTargetHost = "127.77.0.2";
inline constexpr uint16_t kTargetPort = 21'000;
inline constexpr int kTargetPorts = 3;

inline sockaddr_in socket_address(const char* host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

/** Returns a TLS ClientHello for a server name. */
inline std::string client_hello(const std::string& name) {
  const auto with_length = [](const std::string& text, int bytes) {
    std::string all;
    while (bytes-- > 0) all += static_cast<char>(text.size() >> (8 * bytes) & 255);
    return all + text;
  };
  const std::string names = with_length(std::string(1, '\0') + with_length(name, 2), 2);
  const std::string extensions = with_length(std::string(2, '\0') + with_length(names, 2), 2);
  const std::string body = "\x03\x03" + std::string(32, 'r') + with_length("", 1) + with_length("\x13\x01", 2) +
                           with_length(std::string(1, '\0'), 1) + extensions;
  return "\x16\x03\x01" + with_length("\x01" + with_length(body, 3), 2);
}

/** The sockets of callers and of accepted targets. The fuzzer drives each of them; no call blocks. */
class Network {
 public:
  Network() {
    for (int i = 0; i < kTargetPorts; i++) {
      const auto port = static_cast<uint16_t>(kTargetPort + i);
      Fd socket;
      const auto address = *Address::parse(kTargetHost, port);
      must(sys::listen_on(sys::Protocol::tcp, address, sys::Sharing::exclusive, socket) == 0, "a target listens");
      listeners_.push_back(std::move(socket));
    }
  }

  void call(uint16_t port, const std::string& bytes_to_send) {
    if (sockets_.size() >= 40) sockets_.erase(sockets_.begin());
    Fd socket;
    if (sys::connect_to(*Address::parse(kEngineHost, port), nullptr, socket) != 0) return;
    sys::transmit(socket.get(), bytes_to_send.data(), bytes_to_send.size());
    sockets_.push_back(std::move(socket));
  }
  void send_datagram(uint16_t port, size_t size) {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const sockaddr_in to = socket_address(kEngineHost, port);
    sendto(socket.get(), bytes_.data(), size, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  void accept() {
    for (const Fd& listener : listeners_)
      for (;;) {
        Address caller;
        Fd socket;
        if (sys::accept_from(listener.get(), caller, socket) != 0) break;
        sockets_.push_back(std::move(socket));
      }
  }
  /** Lets one socket receive and send, half-close, close or reset. */
  void act(uint8_t index, uint8_t action) {
    if (sockets_.empty()) return;
    const auto chosen = sockets_.begin() + index % static_cast<ptrdiff_t>(sockets_.size());
    const int fd = chosen->get();
    const ssize_t received = sys::receive(fd, bytes_.data(), bytes_.size());
    if (action % 8 < 5) {
      sys::transmit(fd, bytes_.data(), std::max<size_t>(received > 0 ? received : 0, size_t{1} << action / 8 % 18));
    } else if (action % 8 == 5) {
      sys::shut_write(fd);
    } else {
      if (action % 8 == 6) sys::arm_reset(fd);
      sockets_.erase(chosen);
    }
  }

 private:
  std::vector<Fd> listeners_;
  std::vector<Fd> sockets_;
  std::vector<char> bytes_ = std::vector<char>(1 << 18);
};

/** True when nothing listens on the TCP port. */
inline bool is_port_closed(uint16_t port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = socket_address(kEngineHost, port);
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0;
}

}  // namespace sluice::fake
