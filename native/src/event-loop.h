// The event loop of a thread: descriptors (epoll), timers, tasks from other threads, deferred work.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "bulk-scheduler.h"
#include "sys.h"
#include "timer-wheel.h"

namespace sluice {

/** An object that events of the current batch may still refer to: it is deleted after the batch. */
class DeferredDelete {
 public:
  virtual ~DeferredDelete() = default;
};

class EventLoop;

/** Receives the events of a descriptor. Must outlive the batch of events during which it is closed. */
class FdWatcher : public DeferredDelete {
 public:
  inline ~FdWatcher() override;
  virtual void ready(uint32_t events) = 0;

 private:
  friend class EventLoop;
  EventLoop* loop_ = nullptr;  // once it watches
  uint32_t slot_ = 0;          // of the loop
};

/** Work for after a batch of events, or for a bulk transfer's slice. Must be cancelled before deletion. */
class DeferredTask {
 public:
  virtual void run_deferred() = 0;
  bool is_queued() const { return is_queued_; }

 protected:
  ~DeferredTask() = default;

 private:
  friend class EventLoop;
  bool is_queued_ = false;
};

class EventLoop {
 public:
  using Task = std::function<void()>;

  EventLoop();
  /** Returns 0 or a negative errno. */
  int open();
  void run();
  /** Ends `run` after the current batch. Called on the loop's thread. */
  void stop() { is_stopping_ = true; }
  /** Runs a task on the loop's thread. Called on any thread; tasks run in order. */
  void post(Task task);
  /** True if tasks wait that the current batch does not have. */
  bool has_posted();

  int64_t now_us() const { return now_us_; }
  int64_t now_ms() const { return now_us_ / 1000; }
  TimerWheel& timers() { return timers_; }
  void record_small_read() { bulk_scheduler_.record_small_read(now_us_); }
  size_t slice_bytes() { return bulk_scheduler_.slice_bytes(now_us_); }
  void arm_after(Timer& timer, int64_t after_ms) { timers_.arm(timer, now_ms() + after_ms); }

  /** Watches a descriptor; by default as a traffic socket: edge-triggered, for all events. */
  int watch(int fd, FdWatcher& watcher,
            uint32_t events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET);
  int unwatch(int fd) { return sys::unwatch(epoll_.get(), fd); }
  /** Runs a bulk transfer's task in the next slice. */
  void defer(DeferredTask& task) { enqueue(task, deferred_); }
  /** Runs a task once, after all events of this batch. */
  void run_after_batch(DeferredTask& task) { enqueue(task, after_batch_); }
  void cancel(DeferredTask& task);
  void delete_later(std::unique_ptr<DeferredDelete> object) { to_delete_.push_back(std::move(object)); }

 private:
  friend class FdWatcher;
  /**
   * The identity of a watcher in epoll. If a forked child still has a descriptor, epoll keeps watching it after it was
   * closed here (epoll(7)); its events then carry a stale generation.
   */
  struct Slot {
    FdWatcher* watcher = nullptr;
    uint32_t generation = 0;
  };
  struct Wakeup final : FdWatcher {
    void ready(uint32_t) override { is_signalled = true; }
    bool is_signalled = false;
  };

  void take_slot(FdWatcher& watcher);
  void free_slot(uint32_t slot);
  void dispatch(const epoll_event& event);
  int64_t timeout_us() const;
  static void enqueue(DeferredTask& task, std::deque<DeferredTask*>& queue);
  static void run_first(std::deque<DeferredTask*>& queue);
  void run_deferred_tasks();
  void run_posted_tasks();
  void delete_deferred();

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  Fd epoll_;
  Fd wakeup_fd_;
  Wakeup wakeup_;
  int64_t now_us_;  // monotonic, read once per batch and after each deferred task
  TimerWheel timers_;
  bool is_stopping_ = false;
  std::deque<DeferredTask*> deferred_;
  std::deque<DeferredTask*> after_batch_;
  BulkScheduler bulk_scheduler_;
  std::vector<std::unique_ptr<DeferredDelete>> to_delete_;
  std::vector<std::unique_ptr<DeferredDelete>> deleting_;
  std::mutex mutex_;
  std::vector<Task> posted_;  // guarded by the mutex
};

FdWatcher::~FdWatcher() {
  if (loop_ != nullptr) loop_->free_slot(slot_);
}

}  // namespace sluice
