// Events for JavaScript. Any thread pushes them to one queue; JavaScript takes them in batches.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "address.h"
#include "reasons.h"
#include "target-health.h"

namespace sluice {

class DialerEnd;

/** Why a connection or flow has ended; see `connectionEnds` in agent/engine/ended-connection.ts. */
enum class ConnectionEnd : uint8_t {
  caller_closed,
  target_closed,
  caller_reset,
  target_reset,
  idle,
  rule_closed,
  budget_spent,
  dial_failed,
  target_unreachable,
  refused,
  operator_closed,
};

struct EndedConnection {
  int rule;
  const void* owner;  // identifies the owner of the rule
  Address source;
  Address listen;
  Address target;
  int target_index;  // among the targets of its divert, or of its rule; -1: none was connected
  int64_t opened_at_ms;  // since 1970
  int64_t duration_ms;
  std::array<int64_t, 2> bytes;  // by direction
  ConnectionEnd end;
  Reason refusal;
  std::string server_name{};  // requested in the caller's ClientHello
  std::string divert{};  // name; empty: none
};

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
    pipe_size,  // value: bytes requested, other_value: bytes granted, reason: the limit
    connections_ended,  // value: records lost
    source_over,  // text: source, reason: name of the limit
    flow_redialed,  // value: the new target, text and reason: the old and the new address
    dial,  // value: token, other_value: offset, text: the caller
    dial_canceled,  // value: token
    dialed,  // value: token; each answer to a dial has one
    stream_reset,  // value: token
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
  std::vector<EndedConnection> ended{};
  std::shared_ptr<DialerEnd> dialer_end{};  // of `dialed`
};

class EventQueue {
 public:
  /** `wake` is called without the lock whenever the queue becomes non-empty. */
  explicit EventQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

  /** Pushes an event that is never dropped. */
  void push(EngineEvent event) { enqueue(std::move(event)); }
  /** Pushes an event, or drops and counts it when JavaScript lags. */
  void push_advisory(EngineEvent event);
  /**
   * Pushes records of ended connections, and that `lost` ones were dropped. An owner has at most three times as many as are
   * free: some are left for an owner that has none. Returns how many records are still to be reported as lost.
   */
  int64_t push_ended(std::vector<EndedConnection> ended, int64_t lost);
  std::vector<EngineEvent> take();
  int64_t dropped() const;

 private:
  void enqueue(EngineEvent event);

  std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<EngineEvent> queue_;
  bool admit_ended(const void* owner);

  size_t ended_waiting_ = 0;  // records
  std::unordered_map<const void*, size_t> ended_by_owner_;  // of these
  int64_t dropped_ = 0;
};

}  // namespace sluice
