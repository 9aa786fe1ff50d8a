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

int64_t EventQueue::push_ended(std::vector<EndedConnection> ended, int64_t lost) {
  {
    const std::lock_guard lock(mutex_);
    lost += static_cast<int64_t>(
        std::erase_if(ended, [this](const EndedConnection& one) { return !admit_ended(one.owner); }));
    if (ended.empty() && (lost == 0 || ended_waiting_ > 0)) return lost;  // losses alone take no place from records
    ended_waiting_++;
  }
  enqueue({.kind = EngineEvent::Kind::connections_ended, .value = lost, .ended = std::move(ended)});
  return 0;
}

bool EventQueue::admit_ended(const void* owner) {
  size_t& own = ended_by_owner_[owner];
  const size_t free = ended_waiting_ < kMaxEndedWaiting ? kMaxEndedWaiting - ended_waiting_ : 0;
  if (own >= 3 * free) return false;
  own++;
  ended_waiting_++;
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
  ended_by_owner_.clear();
  return batch;
}

}  // namespace sluice
