// Destinations to which no local port is left. Shared by all threads.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "address.h"

namespace sluice {

/**
 * A dial that finds no free local port looks at all of them: 10 ms of its thread, in which no other rule is served. So a
 * destination that had none rests for a second, in which ports become free (TIME_WAIT ends after 60 s).
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
