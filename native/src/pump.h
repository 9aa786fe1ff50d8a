// Moves one direction of a connection: copies small amounts, splices bulk transfers, obeys the meters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "meter.h"
#include "sys.h"
#include "timer-wheel.h"

namespace sluice {

class Connection;

class Pump {
 public:
  Pump(Connection& connection, Direction direction) : connection_(connection), direction_(direction) {}

  enum class Outcome : uint8_t {
    waiting,  // for its source, its sink or a meter
    yielded,  // its slice is used up, and bytes remain
    source_failed,
    sink_failed,
  };
  /** Moves as many bytes as possible within one slice. */
  Outcome run();
  bool has_work() const {
    return state_ == State::blocked || (state_ == State::open && (gear_ == Gear::first || is_source_readable()));
  }
  bool is_closed() const { return state_ == State::closed; }
  /** True during a bulk transfer, which runs in the slices of the event loop. */
  bool is_bulk() const { return gear_ == Gear::bulk; }
  bool is_held() const { return state_ == State::held; }
  /** Sets bytes that were read before there was a target; they pass the meters like all others. */
  void set_early_data(std::vector<char> bytes) {
    if (bytes.empty()) return;
    first_bytes().early = std::move(bytes);
    gear_ = Gear::first;
  }
  /** Sets bytes to send first, together with the source's first bytes if any. They bypass the meters. */
  void set_preamble(std::string bytes) {
    if (bytes.empty()) return;
    first_bytes().preamble = std::move(bytes);
    gear_ = Gear::first;
  }
  bool has_early_data() const { return first_ != nullptr && first_->early_at < first_->early.size(); }
  /** Forwards the remaining bytes of a failed source, but not its end. */
  void drain() { is_draining_ = true; }
  /** Drops the bytes in flight and releases them to the meters. */
  void discard();
  /** Ends the wait for a meter that has changed; the next `run` reserves again. */
  void retry_metering();

 private:
  /** The reason to wait. native/README.md has the state diagram. */
  enum class State : uint8_t {
    open,     // waits for its source
    blocked,  // waits for its sink; the rest is buffered and nothing is read
    held,     // waits for a meter that blocks traffic
    closed,   // the source has ended and its bytes are forwarded
  };
  /** How an open pump moves the next bytes. */
  enum class Gear : uint8_t {
    first,  // a preamble, or bytes read before there was a target
    small,  // copy
    bulk,   // splice, as much as fits a slice
  };
  /** How bytes pass the meters: reserved before they are read, or counted afterwards if no meter limits them. */
  enum class Metering : uint8_t { reserved, free };

  /** Bytes that precede the bytes that it reads. */
  struct FirstBytes {
    std::string preamble;
    std::vector<char> early;
    size_t early_at = 0;
  };

  inline bool is_source_readable() const;
  FirstBytes& first_bytes() {
    if (first_ == nullptr) first_ = std::make_unique<FirstBytes>();
    return *first_;
  }
  bool has_preamble() const { return first_ != nullptr && !first_->preamble.empty(); }
  Outcome step(size_t& left);
  Outcome step_first(size_t& left);
  Outcome step_copy(size_t& left);
  Outcome step_splice(size_t& left);
  Outcome no_bytes(ssize_t count);
  void moved(size_t count, size_t& left);
  size_t reserve(size_t want);
  ssize_t read_first(char* bytes, size_t limit);
  Outcome send_preamble();
  size_t take_preamble(char* to);
  void end_first();
  Outcome write(const char* bytes, size_t count, Metering metering);
  void keep_pending(const char* bytes, size_t count);
  void spill_pipe();
  Outcome flush();
  ssize_t flush_pending();
  ssize_t flush_pipe();
  void forward_end();
  void delivered(size_t count);
  bool may_splice() const;
  size_t slice_bytes() const;
  void keep_pipe();
  void release_pipe();
  void discharge_pipe();
  void hold(int64_t wait_us);
  void end_hold();
  void on_timer();
  using HoldTimer = MethodTimer<Pump, &Pump::on_timer>;

  Connection& connection_;
  const Direction direction_;
  State state_ = State::open;
  Gear gear_ = Gear::small;
  uint8_t small_reads_ = 0;  // consecutive, in the gear for bulk
  bool can_splice_ = true;
  bool is_draining_ = false;
  bool is_pipe_kept_ = false;  // until the sink takes its bytes
  uint32_t in_pipe_ = 0;
  uint32_t pending_at_ = 0;
  uint32_t pending_end_ = 0;
  uint32_t preamble_left_ = 0;  // unsent bytes of the preamble
  sys::Pipe pipe_;
  // The pointers below are null while the connection is idle.
  std::unique_ptr<char[]> pending_;  // bytes read and not yet written
  std::unique_ptr<FirstBytes> first_;
  std::unique_ptr<HoldTimer> timer_;  // created by the first wait
};

}  // namespace sluice
