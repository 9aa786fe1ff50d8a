// Events for JavaScript. Any thread pushes them to one queue; JavaScript takes them in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "target-health.h"

namespace sluice {

struct EngineEvent {
  enum class Kind : uint8_t {
    resolve,  // value: token
    closed,
    dns_failed,
    flow_evicted,
    target_health,
    meter_empty,
    splice_selected,
    splice_unsupported,
    pipe_size,  // value: bytes requested, other_value: bytes granted
  };
  Kind kind;
  int id = 0;  // rule or meter
  int target = 0;
  int64_t value = 0;
  int64_t other_value = 0;
  std::string text{};  // a host, or the name of an errno
  std::string reason{};
  TargetHealth::State from{};
  TargetHealth::State to{};
};

class EventQueue {
 public:
  /** `wake` is called without the lock whenever the queue becomes non-empty. */
  explicit EventQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

  /** Pushes an event that is always delivered. */
  void push(EngineEvent event) { enqueue(std::move(event)); }
  /** Pushes an event, or drops and counts it when JavaScript does not keep up. */
  void push_advisory(EngineEvent event);
  std::vector<EngineEvent> take();
  int64_t dropped() const;

 private:
  void enqueue(EngineEvent event);

  std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<EngineEvent> queue_;
  int64_t dropped_ = 0;
};

}  // namespace sluice
