// The ports of one protocol that this engine listens on. Dialing one would connect the engine to itself.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "local-addresses.h"

namespace sluice {

class OwnPorts {
 public:
  void add(uint16_t from, uint16_t to) { change(from, to, 1); }
  void remove(uint16_t from, uint16_t to) { change(from, to, -1); }
  /** True when a dial would reach a listener of this engine on one of the bound addresses, also through a translator. */
  bool includes(const Address& target, const std::vector<Address>& bind, LocalAddresses& local) const;

 private:
  void change(uint16_t from, uint16_t to, int count) {
    for (int port = from; port <= to; port++) counts_[port].fetch_add(count, std::memory_order_relaxed);
  }
  std::array<std::atomic<int>, 65'536> counts_{};
};

}  // namespace sluice
