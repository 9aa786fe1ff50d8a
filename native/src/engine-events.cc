#include "engine-events.h"

namespace sluice {

namespace {
constexpr size_t kMaxAdvisory = 4096;
}

void EventQueue::push_advisory(EngineEvent event) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kMaxAdvisory) {
      dropped_++;
      return;
    }
  }
  enqueue(std::move(event));
}

void EventQueue::enqueue(EngineEvent event) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = queue_.empty();
    queue_.push_back(std::move(event));
  }
  if (is_first) wake_();
}

int64_t EventQueue::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::vector<EngineEvent> EventQueue::take() {
  const std::lock_guard lock(mutex_);
  std::vector<EngineEvent> batch;
  batch.swap(queue_);
  return batch;
}

}  // namespace sluice
