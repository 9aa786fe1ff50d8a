#include "pump.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "connection.h"

namespace sluice {

namespace {

constexpr size_t kSpliceBytes = 1 << 20;
/** While pipes are scarce, the bytes that a sink does not accept are copied, so fewer are read at once. */
constexpr size_t kScarceSpliceBytes = 1 << 18;
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
  if (state_ == State::blocked)
    if (const Outcome outcome = flush(); outcome != Outcome::waiting || state_ == State::blocked) return outcome;
  for (size_t left = slice_bytes(); has_work();) {
    if (left == 0) return Outcome::yielded;
    const Outcome outcome = step(left);
    if (outcome != Outcome::waiting || state_ == State::blocked) return outcome;
  }
  return Outcome::waiting;
}

/** Moves bytes once. `left`: bytes that this run may still move. */
Pump::Outcome Pump::step(size_t& left) {
  switch (gear_) {
    case Gear::first: return step_first(left);
    case Gear::small: return step_copy(left);
    case Gear::bulk: return step_splice(left);
  }
  return Outcome::waiting;
}

/** The step of small exchanges: one `recv`, one `send`, and the counters. */
Pump::Outcome Pump::step_copy(size_t& left) {
  Endpoint& source = connection_.source(direction_);
  auto& buffer = connection_.worker().buffer;
  size_t limit = std::min(left, buffer.size());
  const Metering metering = connection_.admission().is_free(direction_) ? Metering::free : Metering::reserved;
  if (metering == Metering::reserved && (limit = reserve(limit)) == 0) return Outcome::waiting;
  const ssize_t count = sys::receive(source.fd(), buffer.data(), limit);
  const size_t size = static_cast<size_t>(std::max<ssize_t>(count, 0));
  if (metering == Metering::reserved && size < limit)
    connection_.admission().release(direction_, static_cast<int64_t>(limit - size));
  if (count <= 0) return no_bytes(count);
  if (size < limit) {
    // The read has drained the socket, which saves another recv. Not before an end of stream or an urgent mark: epoll
    // reports no new edge for the bytes behind them.
    if (!source.has_ended && !source.has_urgent) source.is_readable = false;
    if (gear_ == Gear::small) connection_.worker().loop.record_small_read();
  }
  moved(size, left);
  return write(buffer.data(), size, metering);
}

Pump::Outcome Pump::step_splice(size_t& left) {
  Worker& worker = connection_.worker();
  if (!may_splice() || !worker.pipes.acquire(pipe_)) return step_copy(left);
  const size_t limit = reserve(std::min(left, worker.pipes.is_scarce() ? kScarceSpliceBytes : kSpliceBytes));
  if (limit == 0) {
    release_pipe();
    return Outcome::waiting;
  }
  const ssize_t count = sys::splice_in(connection_.source(direction_).fd(), pipe_, limit);
  const size_t size = static_cast<size_t>(std::max<ssize_t>(count, 0));
  if (size < limit) connection_.admission().release(direction_, static_cast<int64_t>(limit - size));
  if (count > 0) {
    in_pipe_ = static_cast<uint32_t>(count);
    connection_.shard().report_splice_selected();
    moved(size, left);
    const Outcome outcome = flush();
    if (outcome == Outcome::waiting && in_pipe_ > 0) keep_pipe();
    return outcome;
  }
  release_pipe();
  // Splicing does not pass an urgent mark: there it reports no bytes, or an end, even if more bytes follow.
  if (count == 0 || connection_.source(direction_).has_urgent) return step_copy(left);
  if (!is_splice_unsupported(count)) return no_bytes(count);
  can_splice_ = false;
  connection_.shard().report_splice_unsupported(static_cast<int>(-count));
  return step_copy(left);
}

/** Sends the preamble, with bytes that were read early or the source's first bytes if there are any. */
Pump::Outcome Pump::step_first(size_t& left) {
  if (!has_early_data() && !is_source_readable()) return send_preamble();
  auto& buffer = connection_.worker().buffer;
  const size_t room = has_preamble() ? first_->preamble.size() : 0;
  const size_t limit = reserve(std::min(left, buffer.size() - room));
  if (limit == 0) {
    if (!has_preamble()) return Outcome::waiting;
    const Outcome outcome = send_preamble();  // the preamble does not wait for meters like the bytes after it
    if (state_ == State::blocked) end_hold();
    return outcome;
  }
  const ssize_t count = read_first(buffer.data() + room, limit);
  const size_t size = static_cast<size_t>(std::max<ssize_t>(count, 0));
  if (size < limit) connection_.admission().release(direction_, static_cast<int64_t>(limit - size));
  if (count <= 0) return no_bytes(count);
  if (has_preamble()) take_preamble(buffer.data());
  end_first();
  moved(size, left);
  return write(buffer.data(), room + size, Metering::reserved);
}

ssize_t Pump::read_first(char* bytes, size_t limit) {
  if (!has_early_data()) return sys::receive(connection_.source(direction_).fd(), bytes, limit);
  const size_t count = std::min(limit, first_->early.size() - first_->early_at);
  std::memcpy(bytes, first_->early.data() + first_->early_at, count);
  first_->early_at += count;
  return static_cast<ssize_t>(count);
}

/** Handles a read without bytes: the source has none now, has ended (0), or has failed. */
Pump::Outcome Pump::no_bytes(ssize_t count) {
  if (count == 0 && connection_.is_reset_by_dialer(direction_)) count = -ECONNRESET;
  if (count == -EAGAIN && !is_draining_) {
    connection_.source(direction_).is_readable = false;
    return Outcome::waiting;
  }
  // A source that drains has failed: no more bytes come, even if its socket has no error.
  if (has_preamble()) {
    const Outcome outcome = send_preamble();
    if (state_ == State::blocked) return count < 0 ? Outcome::source_failed : outcome;  // the end is read again later
  }
  state_ = State::closed;
  release_pipe();
  if (count < 0) return Outcome::source_failed;
  if (!is_draining_) forward_end();
  return Outcome::waiting;
}

/** A read that fills the buffer starts a bulk transfer; consecutive small reads end it. */
void Pump::moved(size_t count, size_t& left) {
  left -= std::min(left, std::max(count, kStepBytes));
  if (gear_ == Gear::small && count >= connection_.worker().buffer.size()) {
    gear_ = Gear::bulk;
    left = std::min(left, slice_bytes());
  }
  if (gear_ != Gear::bulk) return;
  small_reads_ = count < kSmallReadBytes ? small_reads_ + 1 : 0;
  if (small_reads_ < kSmallReadsToEndBulk) return;
  small_reads_ = 0;
  gear_ = Gear::small;
}

/** Returns how many bytes the meters allow; waits for the meters if that is 0. */
size_t Pump::reserve(size_t want) {
  Admission& admission = connection_.admission();
  const auto [bytes, wait_us] =
      admission.reserve(direction_, static_cast<int64_t>(want), connection_.worker().loop.now_us());
  if (bytes == 0) hold(wait_us);
  return static_cast<size_t>(bytes);
}

Pump::Outcome Pump::send_preamble() {
  auto& buffer = connection_.worker().buffer;
  const size_t size = take_preamble(buffer.data());
  end_first();
  return write(buffer.data(), size, Metering::reserved);
}

size_t Pump::take_preamble(char* to) {
  const std::string preamble = std::exchange(first_->preamble, {});
  std::memcpy(to, preamble.data(), preamble.size());
  preamble_left_ = static_cast<uint32_t>(preamble.size());
  return preamble.size();
}

/** Switches to the gear for small amounts, unless bytes read early are left. */
void Pump::end_first() {
  if (has_early_data()) return;
  first_.reset();
  gear_ = Gear::small;
}

/** Writes the bytes read, and buffers those that the sink does not accept. */
Pump::Outcome Pump::write(const char* bytes, size_t count, Metering metering) {
  const ssize_t written = sys::transmit(connection_.sink(direction_).fd(), bytes, count);
  const size_t taken = static_cast<size_t>(std::max<ssize_t>(written, 0));
  if (metering == Metering::reserved)
    delivered(taken);
  else if (taken > 0)
    connection_.passed(direction_, static_cast<int64_t>(taken));
  if (taken == count) return Outcome::waiting;
  if (metering == Metering::free)
    connection_.admission().adopt(direction_, static_cast<int64_t>(count - taken));
  keep_pending(bytes + taken, count - taken);
  state_ = State::blocked;
  return written >= 0 || written == -EAGAIN ? Outcome::waiting : Outcome::sink_failed;
}

void Pump::keep_pending(const char* bytes, size_t count) {
  pending_at_ = 0;
  pending_end_ = static_cast<uint32_t>(count);
  pending_.reset(new char[count]);
  std::memcpy(pending_.get(), bytes, count);
}

/** Keeps the pipe while its bytes wait for the sink, or moves the bytes to a buffer. */
void Pump::keep_pipe() {
  is_pipe_kept_ = connection_.worker().pipes.keep(*connection_.shard().rule->descriptors);
  if (!is_pipe_kept_) spill_pipe();
}

void Pump::discharge_pipe() {
  if (is_pipe_kept_) connection_.shard().rule->descriptors->discharge(PipePool::kDescriptorsPerPipe);
  is_pipe_kept_ = false;
}

/** Moves the bytes of the pipe to a buffer, and puts the pipe back. Bytes that cannot be read stay in the pipe. */
void Pump::spill_pipe() {
  pending_.reset(new char[in_pipe_]);
  pending_at_ = 0;
  pending_end_ = 0;
  while (in_pipe_ > 0) {
    const ssize_t count = sys::read_pipe(pipe_, pending_.get() + pending_end_, in_pipe_);
    if (count <= 0) return;
    pending_end_ += static_cast<uint32_t>(count);
    in_pipe_ -= static_cast<uint32_t>(count);
  }
  release_pipe();
}

/** Writes buffered bytes; the pump stays blocked until all are written. */
Pump::Outcome Pump::flush() {
  ssize_t flushed = pending_ != nullptr ? flush_pending() : 0;
  if (flushed == 0) flushed = flush_pipe();
  state_ = flushed == 0 ? State::open : State::blocked;
  return flushed == 0 || flushed == -EAGAIN ? Outcome::waiting : Outcome::sink_failed;
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
  release_pipe();
  return 0;
}

bool Pump::may_splice() const {
  return can_splice_ && connection_.worker().context.may_splice &&
         !connection_.admission().is_rate_limited(direction_);
}

size_t Pump::slice_bytes() const {
  if (gear_ != Gear::bulk) return kMaxCopySliceBytes;
  const size_t limit = connection_.worker().loop.slice_bytes();
  return may_splice() ? limit : std::min(limit, kMaxCopySliceBytes);
}

void Pump::forward_end() {
  // When both directions have ended, closing the socket sends the FIN.
  if (connection_.is_closed(opposite(direction_))) return;
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
  first_.reset();
  preamble_left_ = 0;
  if (lost > 0) connection_.admission().release(direction_, lost);
  pending_.reset();
  if (in_pipe_ > 0) {
    discharge_pipe();
    connection_.worker().pipes.discard(std::move(pipe_));
  }
  in_pipe_ = 0;
  release_pipe();
  if (timer_ != nullptr) timer_->cancel();  // not deleted: it may be running now
  state_ = State::closed;
}

void Pump::release_pipe() {
  if (!pipe_.read) return;
  discharge_pipe();
  connection_.worker().pipes.put_back(std::move(pipe_));
  pipe_ = {};
}

void Pump::hold(int64_t wait_us) {
  state_ = State::held;
  if (wait_us == TokenBucket::kNever) return;
  if (timer_ == nullptr) timer_ = std::make_unique<HoldTimer>(*this);
  EventLoop& loop = connection_.worker().loop;
  loop.timers().arm(*timer_, (loop.now_us() + wait_us + 999) / 1000);
}

void Pump::on_timer() {
  state_ = State::open;
  connection_.resume();
}

void Pump::retry_metering() {
  end_hold();
  state_ = State::open;
}

void Pump::end_hold() {
  if (timer_ != nullptr) timer_->cancel();
  connection_.admission().cancel_wait(direction_, connection_.worker().loop.now_us());
}

}  // namespace sluice
