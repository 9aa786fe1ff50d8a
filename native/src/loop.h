// One thread's events: descriptors, timers, tasks from other threads, turns that were put off.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "quantum.h"
#include "sys.h"
#include "wheel.h"

namespace sluice {

/** What may still be named by the events of this batch is freed after it. */
class Mortal {
 public:
  virtual ~Mortal() = default;
};

/** Hears of its descriptor, edge by edge. Lives until the batch is over in which its descriptor was closed.
 */
class Watcher : public Mortal {
 public:
  virtual void ready(uint32_t events) = 0;
};

/** Has more to do, but lets others go first. */
class Turn {
 public:
  virtual void take_turn() = 0;
  bool is_queued() const { return is_queued_; }

 protected:
  ~Turn() = default;

 private:
  friend class Loop;
  bool is_queued_ = false;
};

class Loop {
 public:
  using Task = std::function<void()>;

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  /** 0, or why there is no loop. */
  int open();
  void run();
  /** From within. */
  void stop() { is_stopping_ = true; }
  /** From any thread, in order. */
  void post(Task task);

  int64_t now_us() const { return now_us_; }
  int64_t now_ms() const { return now_us_ / 1000; }
  Wheel& wheel() { return wheel_; }
  /** A read has found little. */
  void saw_small() { quantum_.saw_small(now_us_); }
  /** What one may splice before it is tired. */
  size_t turn_bytes() { return quantum_.bytes(now_us_); }
  void arm(Timer& timer, int64_t after_ms) { wheel_.arm(timer, now_ms() + after_ms); }

  /** For sockets that carry traffic: in, out, urgent and end, told once each. */
  int watch(int fd, Watcher& watcher);
  int watch(int fd, Watcher& watcher, uint32_t events);
  int unwatch(int fd) { return sys::unwatch(epoll_.get(), fd); }
  /** Until others had theirs. */
  void put_off(Turn& turn) { enqueue(turn, turns_); }
  /** Once, when all of this batch has been told. */
  void after_batch(Turn& turn) { enqueue(turn, after_batch_); }
  /** Before it is buried. */
  void cancel(Turn& turn);
  void bury(std::unique_ptr<Mortal> dead) { dead_.push_back(std::move(dead)); }

 private:
  struct Bell final : Watcher {
    void ready(uint32_t) override { was_rung = true; }
    bool was_rung = false;
  };

  int64_t timeout_us() const;
  static void enqueue(Turn& turn, std::deque<Turn*>& queue);
  static void take_first(std::deque<Turn*>& queue);
  void take_turns();
  void do_tasks();
  void free_dead();

  Fd epoll_;
  Fd bell_fd_;
  Bell bell_;
  int64_t now_us_;
  Wheel wheel_;
  bool is_stopping_ = false;
  std::deque<Turn*> turns_;
  std::deque<Turn*> after_batch_;
  Quantum quantum_;
  std::vector<std::unique_ptr<Mortal>> dead_;
  std::vector<std::unique_ptr<Mortal>> freeing_;
  std::mutex mutex_;
  std::vector<Task> tasks_;  // under the mutex
};

}  // namespace sluice
