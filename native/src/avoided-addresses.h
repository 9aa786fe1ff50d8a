// Target addresses of a UDP rule that have recently sent an ICMP error, or have not answered. Shared by threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "address.h"

namespace sluice {

class AvoidedAddresses {
 public:
  void add(const Address& address, int64_t now_ms, int64_t for_ms) {
    const std::lock_guard lock(mutex_);
    std::erase_if(avoided_, [&](const Avoided& one) { return one.until_ms <= now_ms || one.address == address; });
    if (avoided_.size() == kMaxAvoided) avoided_.erase(avoided_.begin());
    avoided_.push_back({address, now_ms + for_ms});
  }
  /** Moves the avoided ones to the end; keeps the order otherwise. */
  void move_last(std::vector<Address>& addresses, int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    std::stable_partition(addresses.begin(), addresses.end(), [&](const Address& address) {
      return std::ranges::none_of(avoided_, [&](const Avoided& one) { return one.until_ms > now_ms && one.address == address; });
    });
  }

 private:
  static constexpr size_t kMaxAvoided = 64;
  struct Avoided {
    Address address;
    int64_t until_ms;
  };

  std::mutex mutex_;
  std::vector<Avoided> avoided_;  // oldest first
};

}  // namespace sluice
