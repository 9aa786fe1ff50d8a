// A TCP connection: dials a target for its caller, then relays with two pumps until both directions end.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dead-peer.h"
#include "dialer.h"
#include "endpoint.h"
#include "pump.h"
#include "tcp-rule-shard.h"

namespace sluice {

struct Caller {
  std::unique_ptr<Endpoint> endpoint;
  NamedCaller named;
  int port_index;                // in the rule's port range
  std::vector<char> early_data;  // bytes already read from the caller, without its first read
  bool is_watched;               // by the event loop
  std::string server_name{};     // requested in its ClientHello
};

/** Owned by its shard; uses two reserved descriptors. */
class Connection final : public DeferredDelete,
                         public EndpointOwner,
                         public DialerOwner<ConnectedTarget>,
                         public DeferredTask,
                         public Pooled<Connection> {
 public:
  Connection(TcpRuleShard& shard, Caller caller);

  /** Enters the limits of its source, its divert and the rule's meters, or returns the reason of the refusal. */
  Reason enter();
  void begin();
  /** Resets both sides. */
  void reset(ConnectionEnd why) { end(Ending::reset, why); }
  /** Resets the connection if the current filters no longer allow it. */
  void recheck_filters();
  bool is_selected(const ConnectionSelection& selection) const {
    return selection.has(id_, caller_address_, target_address_) &&
           selection.has_target(shard_.rule->id, shard_.index_in_group(target_index_, divert_), divert_ != nullptr);
  }
  /** Describes the connection without the values that only its sockets know. */
  OpenConnection row() const;
  /** Resumes pumps that wait for a meter, after it changed. */
  void retry_metering();

  // For the pumps.
  void resume();
  Endpoint& source(Direction direction) { return direction == Direction::in ? *caller_ : *target_; }
  Endpoint& sink(Direction direction) { return direction == Direction::in ? *target_ : *caller_; }
  /** Counts reserved bytes that were delivered. */
  void delivered(Direction direction, int64_t count) {
    count_bytes(direction, count);
    admission_.delivered(direction, count);
  }
  /** Counts bytes that were delivered without a reservation. */
  void passed(Direction direction, int64_t count) {
    count_bytes(direction, count);
    admission_.passed(direction, count);
  }
  Admission& admission() { return admission_; }
  TcpRuleShard& shard() { return shard_; }
  Worker& worker() { return shard_.worker; }
  bool has_ended() const { return has_ended_; }
  std::string server_name() const { return server_name_ ? *server_name_ : std::string(); }
  /** Called when the first direction has ended and its end was forwarded. */
  void ends_first(Direction direction) { ended_first_ = direction; }
  bool is_closed(Direction direction) const { return pumps_[index_of(direction)].is_closed(); }
  /** True if the source is a dialer's stream that the dialer has reset: the end of its bytes is then no end. */
  bool is_reset_by_dialer(Direction source) const {
    return source == Direction::out && stream_ != nullptr && stream_->is_reset_by_dialer.load();
  }

 private:
  friend class TcpRuleShard;
  enum class Ending : uint8_t { close, reset };

  void endpoint_ready(Endpoint& endpoint, uint32_t events) override;
  void on_caller_event(uint32_t events);
  void dial_succeeded(ConnectedTarget connected) override;
  void dial_failed(Reason refusal) override;
  void run_deferred() override { resume(); }
  void run_pump(Direction direction);
  void count_bytes(Direction direction, int64_t count) {
    const size_t index = index_of(direction);
    shard_.counters.ports[port_index_].bytes[index].add(count);
    shard_.counters.targets[target_index_].bytes[index].add(count);
    bytes_[index] += count;
    active_ms_ = worker().loop.now_ms();
  }
  void side_failed(Direction source);
  void end_if_done();
  void end_when_acknowledged();
  void on_timer();
  void on_flush_timer(int64_t now_ms);
  void arm_idle_timer();
  int64_t peer_check_ms() const;
  void check_peers(int64_t now_ms);
  void end(Ending ending, ConnectionEnd why, Reason refusal = kNoReason);
  void refuse(Reason refusal);
  void end_failed();
  Reason check_target();
  void reset_stream();
  void report_end(ConnectionEnd why, Reason refusal);
  void close_endpoint(std::unique_ptr<Endpoint> endpoint, Ending ending);
  Pump& pump(Direction direction) { return pumps_[index_of(direction)]; }

  TcpRuleShard& shard_;
  std::unique_ptr<Endpoint> caller_;
  std::unique_ptr<Endpoint> target_;  // null until the dial has succeeded
  std::unique_ptr<Dialer> dialer_;
  Admission admission_;
  std::array<Pump, 2> pumps_{{{*this, Direction::in}, {*this, Direction::out}}};
  const int64_t id_;
  const Address caller_address_;
  Address target_address_;
  std::unique_ptr<const std::string> dial_caller_;  // for dialers, until the dial has ended
  std::shared_ptr<DialedStream> stream_;  // to the target's dialer; null: its socket is TCP
  const int port_index_;
  const Divert* divert_ = nullptr;  // null: the targets of the rule
  int target_index_ = -1;
  TargetUse use_;
  SourceUses source_uses_;
  DivertUse divert_use_;
  size_t index_ = 0;  // among the connections of its shard
  const int64_t opened_ms_;
  int64_t active_ms_ = 0;
  int64_t checked_ms_ = 0;  // when the peers were checked last
  std::array<DeadPeer, 2> peers_;  // by their sending direction
  int64_t unacknowledged_ = INT64_MAX;  // bytes of a failed side that the other side may still receive
  std::array<int64_t, 2> bytes_{};  // delivered, by direction
  std::unique_ptr<const std::string> server_name_;  // set only if its end is reported
  bool is_caller_watched_;
  bool has_ended_ = false;
  bool has_failed_side_ = false;
  bool is_kept_alive_ = false;
  Direction failed_source_ = Direction::in;
  Direction ended_first_ = Direction::in;
  MethodTimer<Connection, &Connection::on_timer> timer_{*this};
};

bool Pump::is_source_readable() const { return connection_.source(direction_).is_readable; }

}  // namespace sluice
