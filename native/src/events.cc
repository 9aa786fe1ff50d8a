#include "events.h"

namespace sluice {

namespace {
constexpr size_t kMostAdvisory = 4096;
}

void Events::may_tell(Event event) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kMostAdvisory) {
      dropped_++;
      return;
    }
  }
  push(std::move(event));
}

void Events::push(Event event) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = queue_.empty();
    queue_.push_back(std::move(event));
  }
  if (is_first) wake_();
}

int64_t Events::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::vector<Event> Events::take() {
  const std::lock_guard lock(mutex_);
  std::vector<Event> batch;
  batch.swap(queue_);
  return batch;
}

}  // namespace sluice
