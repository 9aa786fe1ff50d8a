#include "engine-events.h"

#include <utility>

namespace sluice {

namespace {
constexpr size_t kMaxAdvisory = 4096;
constexpr size_t kMaxEndedWaiting = 16'384;
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

bool EventQueue::push_ended(std::vector<EndedConnection>& ended, int64_t lost) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_waiting_ >= kMaxEndedWaiting) return false;
    ended_waiting_ += ended.size() + 1;  // a batch that only reports losses also counts
  }
  enqueue({.kind = EngineEvent::Kind::connections_ended, .value = lost, .ended = std::exchange(ended, {})});
  return true;
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
  ended_waiting_ = 0;
  return batch;
}

}  // namespace sluice
