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
    yielded,  // its slice is used up; there is more to move
    source_failed,
    sink_failed,
  };
  /** Moves what can be moved within one slice. */
  Outcome run();
  bool has_work() const;
  /** True once the end of the source has been forwarded to the sink. */
  bool has_forwarded_end() const { return has_forwarded_end_; }
  /** True during a bulk transfer, which runs in the slices of the event loop. */
  bool is_bulk() const { return is_bulk_; }
  bool is_waiting_for_meter() const { return is_waiting_for_meter_; }
  /** Sets bytes that were read before there was a target; they pass the meters like all others. */
  void set_early_data(std::vector<char> bytes) { early_data_ = std::move(bytes); }
  /** Sets bytes that are sent first, with the source's first ones where it has some. No meter sees them. */
  void set_preamble(std::string bytes) {
    if (!bytes.empty()) preamble_ = std::make_unique<std::string>(std::move(bytes));
  }
  bool has_early_data() const { return !early_data_.empty(); }
  /** Forwards the remaining bytes of a failed source, but not its end. */
  void drain() { is_draining_ = true; }
  bool is_drained() const { return is_draining_ && has_source_ended_ && !has_pending(); }
  /** Drops the bytes in flight and releases them to the meters. */
  void discard();
  /** Ends the wait for a meter that has changed; the next `run` reserves again. */
  void retry_metering();

 private:
  bool has_pending() const { return pending_ != nullptr || in_pipe_ > 0; }
  bool may_read() const { return !has_source_ended_ && !is_waiting_for_meter_ && has_source(); }
  ssize_t flush();
  ssize_t flush_pending();
  ssize_t flush_pipe();
  ssize_t read(size_t want);
  ssize_t copy(size_t limit);
  ssize_t splice(size_t limit);
  void update_bulk(ssize_t count);
  ssize_t read_source(char* bytes, size_t limit);
  size_t take_preamble(char* to);
  void write(const char* bytes, size_t count);
  void keep_pending(const char* bytes, size_t count);
  void forward_end();
  void delivered(size_t count);
  bool may_splice() const;
  size_t slice_bytes() const;
  bool has_source() const;
  void release_pipe();
  void wait_for_meter(int64_t wait_us);
  void on_timer();

  Connection& connection_;
  std::unique_ptr<char[]> pending_;  // bytes read and not yet written
  uint32_t pending_at_ = 0;
  uint32_t pending_end_ = 0;
  uint32_t preamble_left_ = 0;  // of its bytes, among those being written
  std::unique_ptr<std::string> preamble_;
  sys::Pipe pipe_;
  uint32_t in_pipe_ = 0;
  const Direction direction_;
  bool is_bulk_ = false;
  bool can_splice_ = true;
  uint8_t small_reads_ = 0;  // consecutive, during a bulk transfer
  bool has_source_ended_ = false;
  bool has_forwarded_end_ = false;
  bool is_waiting_for_meter_ = false;
  bool is_sink_full_ = false;  // the sink took less than it was given; epoll will report it writable
  bool is_draining_ = false;
  std::vector<char> early_data_;
  size_t early_data_at_ = 0;
  MethodTimer<Pump, &Pump::on_timer> timer_{*this};
};

}  // namespace sluice
