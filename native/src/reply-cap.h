// Caps the replies of a UDP flow relative to the bytes received, so that forging a source address does not pay.
#pragma once

#include <cstdint>

#include "reasons.h"

namespace sluice {

struct ReplyCap {
  double ratio;
  int64_t proven_after;  // exchanges that lift the cap; 0: none do
  Reason refusal;
};

/** The bytes of one flow: requests and replies. */
class ReplyAccount {
 public:
  void ask(const ReplyCap& cap, int64_t bytes) {
    asked_ += bytes;
    if (!has_replied_) return;
    has_replied_ = false;
    exchanges_++;
    if (cap.proven_after > 0 && exchanges_ >= cap.proven_after) is_proven_ = true;
  }
  /** Returns false if the reply exceeds the cap. */
  bool may_reply(const ReplyCap& cap, int64_t bytes) {
    if (!is_proven_ && static_cast<double>(replied_ + bytes) > cap.ratio * static_cast<double>(asked_)) return false;
    replied_ += bytes;
    return has_replied_ = true;
  }

 private:
  int64_t asked_ = 0;    // bytes
  int64_t replied_ = 0;  // bytes
  int64_t exchanges_ = 0;  // datagrams of the caller that came after a reply
  bool has_replied_ = false;  // since the caller's last datagram
  bool is_proven_ = false;
};

}  // namespace sluice
