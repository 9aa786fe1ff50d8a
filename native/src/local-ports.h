// Destinations that used up all local ports. Shared by all threads.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "address.h"

namespace sluice {

/**
 * A dial without a free local port makes the kernel try all ports, which blocks its thread for 10 ms. So such a
 * destination is not dialed for a second, while ports become free (TIME_WAIT ends after 60 s).
 */
class LocalPorts {
 public:
  /** `from` null: the system chooses the local address. */
  bool are_used_up(const Address& target, const Address* from, int64_t now_ms);
  void used_up(const Address& target, const Address* from, int64_t now_ms);

 private:
  struct Resting {
    Address target;
    Address from;
    int64_t until_ms;
  };

  std::atomic<bool> is_any_{false};
  std::mutex mutex_;
  std::vector<Resting> resting_;
};

}  // namespace sluice
