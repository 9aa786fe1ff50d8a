// Detects a peer that acknowledges nothing while data is under way.
#pragma once

#include <cstdint>

#include "sys.h"

namespace sluice {

/**
 * The checks of one side. Not TCP_USER_TIMEOUT (tcp(7)): it also ends connections to a peer that is alive, answers window
 * probes, and does not read.
 */
class DeadPeer {
 public:
  /** Checks within the time after which a peer has failed. The connection's timer makes them. */
  static constexpr int kChecks = 8;

  /** Returns true if the peer has acknowledged nothing for the time of `kChecks` checks. */
  bool check(sys::Unanswered now) {
    const bool has_answered = now.tries == 0 || now.tries < tries_ || now.bytes < bytes_;
    stuck_checks_ = has_answered || tries_ == 0 ? 0 : stuck_checks_ + 1;
    // One that closes its window while segments are under way leaves the first tries unanswered, but no later ones.
    if (stuck_checks_ <= kFirstChecks) first_tries_ = now.tries;
    bytes_ = now.bytes;
    tries_ = now.tries;
    return stuck_checks_ >= kChecks && tries_ > first_tries_;
  }
  bool is_clean() const { return bytes_ == 0; }

 private:
  static constexpr int kFirstChecks = 2;

  int64_t bytes_ = 0;
  int16_t tries_ = 0;
  int16_t first_tries_ = 0;
  int32_t stuck_checks_ = 0;
};

}  // namespace sluice
