#include "ended-connections.h"

#include <utility>

namespace sluice {

namespace {
/** A record waits this long for others, so that JavaScript is not woken for each. */
constexpr int64_t kDelayMs = 100;
constexpr size_t kBatch = 256;
}  // namespace

void EndedConnections::add(EndedConnection ended) {
  batch_.push_back(std::move(ended));
  if (batch_.size() >= kBatch)
    flush();
  else if (!timer_.is_armed())
    loop_.arm_after(timer_, kDelayMs);
}

void EndedConnections::flush() {
  timer_.cancel();
  if (batch_.empty() && lost_ == 0) return;
  lost_ = events_.push_ended(std::exchange(batch_, {}), lost_);
  if (lost_ > 0) loop_.arm_after(timer_, kDelayMs);
}

}  // namespace sluice
