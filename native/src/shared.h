// What the threads of one engine share.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "events.h"
#include "reasons.h"
#include "sys.h"

namespace sluice {

/** The ports that this engine listens on, of one protocol: a dial to one would feed a connection to itself.
 */
class OwnPorts {
 public:
  void join(uint16_t from, uint16_t to) { add(from, to, 1); }
  void leave(uint16_t from, uint16_t to) { add(from, to, -1); }
  bool includes(const Address& target, const std::vector<Address>& bind) const;

 private:
  void add(uint16_t from, uint16_t to, int count) {
    for (int port = from; port <= to; port++) held_[port].fetch_add(count, std::memory_order_relaxed);
  }
  std::array<std::atomic<int>, 65'536> held_{};
};

/** Room for descriptors, on top of what the process held before. */
class Descriptors {
 public:
  void open();
  /** False: no room, nothing is taken. */
  bool take(int64_t count);
  void give(int64_t count) { left_.fetch_add(count, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> left_{0};
};

/** How long names were awaited. */
struct Peeks {
  static constexpr std::array<double, 15> kBoundsMs{0.1, 0.25, 0.5, 1,   2.5,  5,    10,  25,
                                                    50,  100,  250, 500, 1000, 2000, 3000};
  std::array<std::atomic<int64_t>, kBoundsMs.size() + 1> counts{};
  std::atomic<int64_t> sum_us{0};
  void add(int64_t us);
};

struct Shared {
  Shared(std::vector<Address> bind, bool may_splice, std::function<void()> wake);

  const std::vector<Address> bind;
  const bool may_splice;
  Events events;
  Reasons reasons;
  OwnPorts tcp_ports;
  OwnPorts udp_ports;
  Descriptors descriptors;
  Peeks peeks;
  struct {
    Reason loop, descriptors, sni_miss, sni_timeout, sni_overflow;
  } why;
};

}  // namespace sluice
