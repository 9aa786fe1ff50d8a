// What the engine tells JavaScript, from any thread, in one queue that is emptied in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace sluice {

struct Event {
  enum class Kind : uint8_t {
    resolve,  // number: token
    closed,
    dns_failed,
    flow_evicted,
    target_health,
    meter_empty,
    splice_selected,
    splice_unsupported,
    pipe_size,  // number: bytes asked for, other: bytes that it has
  };
  Kind kind;
  int id = 0;  // rule or meter
  int target = 0;
  int64_t number = 0;
  int64_t other = 0;
  std::string words{};  // host, or errno's name
  std::string reason{};
  uint8_t from = 0;  // health
  uint8_t to = 0;
};

class Events {
 public:
  /** `wake` is called when the queue is no longer empty. */
  explicit Events(std::function<void()> wake) : wake_(std::move(wake)) {}

  void must_tell(Event event) { push(std::move(event)); }
  /** Dropped, and counted, when JavaScript does not keep up. */
  void may_tell(Event event);
  std::vector<Event> take();
  int64_t dropped() const;

 private:
  void push(Event event);

  std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<Event> queue_;
  int64_t dropped_ = 0;
};

}  // namespace sluice
