#include "loop.h"

#include <algorithm>
#include <array>
#include <climits>

namespace sluice {

namespace {
constexpr int kBatch = 256;
}

Loop::Loop() : now_us_(sys::now_us()), wheel_(now_us_ / 1000) {}

int Loop::open() {
  if (const int error = sys::open_epoll(epoll_)) return error;
  if (const int error = sys::open_bell(bell_fd_)) return error;
  return watch(bell_fd_.get(), bell_, EPOLLIN);
}

void Loop::post(Task task) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = tasks_.empty();
    tasks_.push_back(std::move(task));
  }
  if (is_first) sys::ring(bell_fd_.get());
}

int Loop::watch(int fd, Watcher& watcher) {
  return watch(fd, watcher, EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET);
}

int Loop::watch(int fd, Watcher& watcher, uint32_t events) {
  return sys::watch(epoll_.get(), fd, events, &watcher);
}

void Loop::enqueue(Turn& turn, std::deque<Turn*>& queue) {
  if (turn.is_queued_) return;
  turn.is_queued_ = true;
  queue.push_back(&turn);
}

void Loop::take_first(std::deque<Turn*>& queue) {
  Turn& turn = *queue.front();
  queue.pop_front();
  turn.is_queued_ = false;
  turn.take_turn();
}

void Loop::cancel(Turn& turn) {
  if (turn.is_queued_) std::erase(turns_, &turn);
}

void Loop::run() {
  std::array<epoll_event, kBatch> events;
  while (!is_stopping_) {
    const int count = sys::wait(epoll_.get(), events.data(), kBatch, timeout_us());
    now_us_ = sys::now_us();
    for (int i = 0; i < count; i++) static_cast<Watcher*>(events[i].data.ptr)->ready(events[i].events);
    take_turns();
    wheel_.turn(now_ms());
    if (bell_.was_rung) do_tasks();
    free_dead();
  }
}

/** Whose end may be the end of others. */
void Loop::free_dead() {
  while (!dead_.empty()) {
    freeing_.swap(dead_);
    freeing_.clear();
  }
}

int64_t Loop::timeout_us() const {
  if (!turns_.empty()) return quantum_.pause_us(now_us_);
  // A millisecond has begun already: what is due in the next one is due no later than that.
  return std::min<int64_t>(wheel_.quiet_ms(), INT_MAX) * 1000;
}

void Loop::take_turns() {
  while (!after_batch_.empty()) take_first(after_batch_);
  if (turns_.empty() || quantum_.pause_us(now_us_) > 0) return;
  now_us_ = sys::now_us();
  const int64_t until_us = now_us_ + quantum_.us(now_us_);
  // Who is tired again is not asked twice.
  for (size_t count = turns_.size(); count > 0 && !turns_.empty() && now_us_ < until_us; count--) {
    take_first(turns_);
    now_us_ = sys::now_us();
  }
  quantum_.ended(now_us_);
}

void Loop::do_tasks() {
  bell_.was_rung = false;
  sys::silence(bell_fd_.get());
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) task();
}

}  // namespace sluice
