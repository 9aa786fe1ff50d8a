#include "event-loop.h"

#include <algorithm>
#include <array>
#include <climits>

namespace sluice {

namespace {
constexpr int kMaxEvents = 256;
}

EventLoop::EventLoop() : now_us_(sys::now_us()), timers_(now_us_ / 1000) {}

int EventLoop::open() {
  if (const int error = sys::open_epoll(epoll_)) return error;
  if (const int error = sys::open_wakeup(wakeup_fd_)) return error;
  return watch(wakeup_fd_.get(), wakeup_, EPOLLIN);
}

int EventLoop::watch(int fd, FdWatcher& watcher, uint32_t events) {
  if (watcher.loop_ == nullptr) take_slot(watcher);
  const uint64_t generation = slots_[watcher.slot_].generation;
  return sys::watch(epoll_.get(), fd, events, generation << 32 | watcher.slot_);
}

void EventLoop::take_slot(FdWatcher& watcher) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  watcher.loop_ = this;
  watcher.slot_ = free_slots_.back();
  free_slots_.pop_back();
  slots_[watcher.slot_].watcher = &watcher;
}

void EventLoop::free_slot(uint32_t slot) {
  slots_[slot] = {nullptr, slots_[slot].generation + 1};
  free_slots_.push_back(slot);
}

void EventLoop::dispatch(const epoll_event& event) {
  const auto [watcher, generation] = slots_[static_cast<uint32_t>(event.data.u64)];
  if (generation == event.data.u64 >> 32 && watcher != nullptr) watcher->ready(event.events);
}

void EventLoop::post(Task task) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  if (is_first) sys::signal_wakeup(wakeup_fd_.get());
}

bool EventLoop::has_posted() {
  const std::lock_guard lock(mutex_);
  return !posted_.empty();
}

void EventLoop::enqueue(DeferredTask& task, std::deque<DeferredTask*>& queue) {
  if (task.is_queued_) return;
  task.is_queued_ = true;
  queue.push_back(&task);
}

void EventLoop::run_first(std::deque<DeferredTask*>& queue) {
  DeferredTask& task = *queue.front();
  queue.pop_front();
  task.is_queued_ = false;
  task.run_deferred();
}

void EventLoop::cancel(DeferredTask& task) {
  if (task.is_queued_) std::erase(deferred_, &task);
}

void EventLoop::run() {
  std::array<epoll_event, kMaxEvents> events;
  while (!is_stopping_) {
    const int count = sys::wait(epoll_.get(), events.data(), kMaxEvents, timeout_us());
    now_us_ = sys::now_us();
    for (int i = 0; i < count; i++) dispatch(events[i]);
    run_deferred_tasks();
    timers_.advance(now_ms());
    if (wakeup_.is_signalled) run_posted_tasks();
    delete_deferred();
  }
}

/** Deletes in rounds: a destructor may delete further objects later. */
void EventLoop::delete_deferred() {
  while (!to_delete_.empty()) {
    deleting_.swap(to_delete_);
    deleting_.clear();
  }
}

int64_t EventLoop::timeout_us() const {
  if (!deferred_.empty()) return bulk_scheduler_.pause_us(now_us_);
  // Part of the current millisecond has passed, so this wakes at most a millisecond late.
  return std::min<int64_t>(timers_.ms_to_next(), INT_MAX) * 1000;
}

void EventLoop::run_deferred_tasks() {
  while (!after_batch_.empty()) run_first(after_batch_);
  if (deferred_.empty() || bulk_scheduler_.pause_us(now_us_) > 0) return;
  now_us_ = sys::now_us();
  const int64_t until_us = now_us_ + bulk_scheduler_.slice_us(now_us_);
  // A task that defers itself again waits for the next slice.
  for (size_t count = deferred_.size(); count > 0 && !deferred_.empty() && now_us_ < until_us; count--) {
    run_first(deferred_);
    now_us_ = sys::now_us();
  }
  bulk_scheduler_.slice_ended(now_us_);
}

void EventLoop::run_posted_tasks() {
  wakeup_.is_signalled = false;
  sys::clear_wakeup(wakeup_fd_.get());
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (const Task& task : tasks) task();
}

}  // namespace sluice
