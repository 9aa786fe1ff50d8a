#include "pump.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "connection.h"

namespace sluice {

namespace {

constexpr size_t kSpliceBytes = 1 << 20;
/** A step that moves less is charged as this much, since it takes as long. */
constexpr size_t kStepBytes = 32 << 10;
constexpr size_t kMaxCopySliceBytes = 16 * kStepBytes;
constexpr ssize_t kSmallReadBytes = 4096;
constexpr uint8_t kSmallReadsToEndBulk = 8;

bool is_splice_unsupported(ssize_t error) {
  return error == -ENOSYS || error == -EINVAL || error == -EPERM || error == -EOPNOTSUPP;
}

}  // namespace

Pump::Outcome Pump::run() {
  is_sink_full_ = false;
  for (size_t left = slice_bytes();;) {
    const ssize_t flushed = is_sink_full_ ? -EAGAIN : flush();
    if (flushed == -EAGAIN) return Outcome::waiting;
    if (flushed < 0) return Outcome::sink_failed;
    if (has_source_ended_) forward_end();
    if (!may_read()) return Outcome::waiting;
    if (left == 0) return Outcome::yielded;
    const ssize_t count = read(left);
    if (count < 0 && count != -EAGAIN) return Outcome::source_failed;
    const size_t moved = count > 0 ? static_cast<size_t>(count) : 0;
    left -= std::min(left, std::max(moved, kStepBytes));
  }
}

bool Pump::has_work() const {
  return preamble_ != nullptr || has_pending() || may_read();
}

bool Pump::has_source() const { return !early_data_.empty() || connection_.source(direction_).is_readable; }

ssize_t Pump::flush() {
  if (preamble_ != nullptr && !may_read()) {
    auto& buffer = connection_.worker().buffer;
    keep_pending(buffer.data(), take_preamble(buffer.data()));
  }
  const ssize_t flushed = pending_ != nullptr ? flush_pending() : 0;
  return flushed < 0 || in_pipe_ == 0 ? flushed : flush_pipe();
}

ssize_t Pump::flush_pending() {
  const uint32_t left = pending_end_ - pending_at_;
  const ssize_t count = sys::transmit(connection_.sink(direction_).fd(), pending_.get() + pending_at_, left);
  if (count < 0) return count;
  delivered(static_cast<size_t>(count));
  pending_at_ += static_cast<uint32_t>(count);
  if (pending_at_ < pending_end_) return -EAGAIN;
  pending_.reset();
  return 0;
}

ssize_t Pump::flush_pipe() {
  while (in_pipe_ > 0) {
    const ssize_t count = sys::splice_out(pipe_, connection_.sink(direction_).fd(), in_pipe_);
    if (count <= 0) return count == 0 ? -EPIPE : count;
    in_pipe_ -= static_cast<uint32_t>(count);
    delivered(static_cast<size_t>(count));
  }
  return 0;
}

/** Reserves bytes from the meters, reads, and releases what was not read. */
ssize_t Pump::read(size_t want) {
  Admission& admission = connection_.admission();
  const bool is_spliced = may_splice();
  if (!is_spliced) release_pipe();
  want = std::min(want, is_spliced ? kSpliceBytes : connection_.worker().buffer.size());
  const auto [limit, wait_us] =
      admission.reserve(direction_, static_cast<int64_t>(want), connection_.worker().loop.now_us());
  if (limit == 0) {
    wait_for_meter(wait_us);
    return -EAGAIN;
  }
  const ssize_t count = is_spliced ? splice(static_cast<size_t>(limit)) : copy(static_cast<size_t>(limit));
  const int64_t unused = limit - std::max<ssize_t>(count, 0);
  if (unused > 0) admission.release(direction_, unused);
  if (count == -EAGAIN)
    connection_.source(direction_).is_readable = false;
  else if (count <= 0)
    has_source_ended_ = true;
  else
    update_bulk(count);
  return count;
}

/** A read that fills the buffer starts a bulk transfer; consecutive small reads end it. */
void Pump::update_bulk(ssize_t count) {
  if (static_cast<size_t>(count) >= connection_.worker().buffer.size()) is_bulk_ = true;
  small_reads_ = is_bulk_ && count < kSmallReadBytes ? small_reads_ + 1 : 0;
  if (small_reads_ == kSmallReadsToEndBulk) is_bulk_ = false;
}

ssize_t Pump::copy(size_t limit) {
  auto& buffer = connection_.worker().buffer;
  const size_t room = preamble_ != nullptr ? preamble_->size() : 0;
  limit = std::min(limit, buffer.size() - room);
  const bool is_early_data = !early_data_.empty();
  const ssize_t count = read_source(buffer.data() + room, limit);
  if (count <= 0) return count;
  const auto size = static_cast<size_t>(count);
  Endpoint& source = connection_.source(direction_);
  // A short read has drained the socket, which saves another recv. Not before an end of stream or an urgent
  // mark: epoll reports no new edge for the bytes behind them.
  if (!is_early_data && size < limit && !source.has_ended && !source.has_urgent) source.is_readable = false;
  if (!is_bulk_ && size < limit) connection_.worker().loop.record_small_read();
  if (room > 0) take_preamble(buffer.data());
  write(buffer.data(), room + size);
  return count;
}

ssize_t Pump::read_source(char* bytes, size_t limit) {
  if (early_data_.empty()) return sys::receive(connection_.source(direction_).fd(), bytes, limit);
  const size_t count = std::min(limit, early_data_.size() - early_data_at_);
  std::memcpy(bytes, early_data_.data() + early_data_at_, count);
  early_data_at_ += count;
  if (early_data_at_ == early_data_.size()) early_data_ = {};
  return static_cast<ssize_t>(count);
}

size_t Pump::take_preamble(char* to) {
  const auto preamble = std::exchange(preamble_, nullptr);
  std::memcpy(to, preamble->data(), preamble->size());
  preamble_left_ = static_cast<uint32_t>(preamble->size());
  return preamble->size();
}

void Pump::write(const char* bytes, size_t count) {
  const ssize_t written = sys::transmit(connection_.sink(direction_).fd(), bytes, count);
  const size_t taken = static_cast<size_t>(std::max<ssize_t>(written, 0));
  delivered(taken);
  if (taken == count) return;
  // The rest is kept even if the sink has failed: the next flush returns the error.
  is_sink_full_ = written >= 0 || written == -EAGAIN;
  keep_pending(bytes + taken, count - taken);
}

void Pump::keep_pending(const char* bytes, size_t count) {
  pending_at_ = 0;
  pending_end_ = static_cast<uint32_t>(count);
  pending_.reset(new char[count]);
  std::memcpy(pending_.get(), bytes, count);
}

ssize_t Pump::splice(size_t limit) {
  Worker& worker = connection_.worker();
  if (!pipe_.read && !worker.pipes.acquire(pipe_)) return copy(limit);
  const ssize_t count = sys::splice_in(connection_.source(direction_).fd(), pipe_, limit);
  if (count > 0) {
    in_pipe_ = static_cast<uint32_t>(count);
    connection_.shard().report_splice_selected();
    return count;
  }
  release_pipe();
  if (!is_splice_unsupported(count)) return count;
  can_splice_ = false;
  connection_.shard().report_splice_unsupported(static_cast<int>(-count));
  return copy(limit);
}

bool Pump::may_splice() const {
  return is_bulk_ && can_splice_ && early_data_.empty() && connection_.worker().context.may_splice &&
         !connection_.admission().is_rate_limited(direction_);
}

size_t Pump::slice_bytes() const {
  const size_t limit = connection_.worker().loop.slice_bytes();
  return may_splice() ? limit : std::min(limit, kMaxCopySliceBytes);
}

void Pump::forward_end() {
  if (is_draining_ || has_forwarded_end_) return;
  has_forwarded_end_ = true;
  release_pipe();
  // When both directions have ended, closing the socket sends the FIN.
  if (connection_.has_forwarded_end(opposite(direction_))) return;
  connection_.ends_first(direction_);
  sys::shut_write(connection_.sink(direction_).fd());
}

void Pump::delivered(size_t count) {
  const auto preamble = std::min(count, static_cast<size_t>(preamble_left_));
  preamble_left_ -= static_cast<uint32_t>(preamble);
  count -= preamble;
  if (count > 0) connection_.delivered(direction_, static_cast<int64_t>(count));
}

void Pump::discard() {
  const int64_t lost = (pending_ != nullptr ? pending_end_ - pending_at_ - preamble_left_ : 0) + in_pipe_;
  preamble_.reset();
  preamble_left_ = 0;
  if (lost > 0) connection_.admission().release(direction_, lost);
  pending_.reset();
  if (in_pipe_ > 0) connection_.worker().pipes.discard(std::move(pipe_));
  in_pipe_ = 0;
  release_pipe();
  early_data_ = {};
  timer_.cancel();
  has_source_ended_ = has_forwarded_end_ = true;
}

void Pump::release_pipe() {
  if (pipe_.read) connection_.worker().pipes.put_back(std::move(pipe_));
  pipe_ = {};
}

void Pump::wait_for_meter(int64_t wait_us) {
  is_waiting_for_meter_ = true;
  if (wait_us == TokenBucket::kNever) return;
  EventLoop& loop = connection_.worker().loop;
  loop.timers().arm(timer_, (loop.now_us() + wait_us + 999) / 1000);
}

void Pump::on_timer() {
  is_waiting_for_meter_ = false;
  connection_.resume();
}

void Pump::retry_metering() {
  timer_.cancel();
  connection_.admission().cancel_wait(direction_, connection_.worker().loop.now_us());
  is_waiting_for_meter_ = false;
}

}  // namespace sluice
