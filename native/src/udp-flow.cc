#include "udp-flow.h"

#include <string.h>

#include <cerrno>
#include <utility>

#include "udp-rule-shard.h"
#include "udp-sys.h"

namespace sluice {

namespace {

/** Buffer limits until there is a target. The first datagram is always buffered. */
constexpr size_t kMaxBuffered = 64;
constexpr size_t kMaxBufferedBytes = 64 * 1024;
/** The IPv4 maximum; IPv6 would allow a few bytes more. */
constexpr size_t kMaxDatagramBytes = 65'507;

/** Names errors that ICMP has reported about an earlier datagram; null for errors of this call. */
const char* eviction_reason(int error) {
  switch (error) {
    case ECONNREFUSED: return "refused";
    case EHOSTUNREACH:
    case ENETUNREACH: return "unreachable";
    default: return nullptr;
  }
}

}  // namespace

UdpFlow::UdpFlow(UdpRuleShard& shard, const UdpPath& path, const NamedCaller& caller)
    : shard_(shard),
      admission_(shard.rule->meters),
      path_(path),
      last_active_ms_(shard.worker.loop.now_ms()),
      needs_preamble_(shard.rule->preamble != nullptr),
      id_(shard.worker.new_id()),
      opened_ms_(last_active_ms_),
      caller_(caller),
      dialer_(shard, path.port_index, caller.source, *this) {}

Reason UdpFlow::enter() {
  Reason refusal = shard_.enter_source(caller_.source, source_uses_);
  if (refusal == kNoReason) refusal = shard_.enter_divert(caller_.source, divert_, divert_use_);
  return refusal != kNoReason ? refusal : admission_.enter(shard_.worker.loop.now_us());
}

void UdpFlow::begin(int datagrams) {
  expected_ = datagrams;
  dialer_.begin(divert_);
  expected_ = 0;
}

void UdpFlow::dial_failed(Reason refusal) {
  if (target_) {
    is_redialing_ = false;
    return dialer_.cancel();
  }
  const size_t lost = expected_ + (buffered_ ? buffered_->size() : 0);
  const bool has_refusal = refusal != kNoReason;
  shard_.rule->reject(has_refusal ? refusal : shard_.worker.context.refusals.no_target, static_cast<int64_t>(lost));
  end(has_refusal ? ConnectionEnd::refused : ConnectionEnd::dial_failed, refusal);
}

void UdpFlow::receive(SlotRange run) {
  const int64_t now_ms = shard_.worker.loop.now_ms();
  if (has_no_answer(now_ms)) dial_again(now_ms);
  if (has_ended_) return shard_.rule->reject(shard_.worker.context.refusals.datagram_unsent, run.size());
  last_active_ms_ = now_ms;
  if (const auto& cap = shard_.rule->reply_cap)
    for (int slot = run.first; slot < run.end; slot++)
      replies_.ask(*cap, static_cast<int64_t>(shard_.batch().size(slot)));
  if (target_) return forward(Direction::in, run);
  for (int slot = run.first; slot < run.end; slot++) buffer(slot);
}

void UdpFlow::ready(uint32_t) {
  if (has_ended_) return;
  SlotRange received;
  const int count = shard_.batch().receive(target_.get(), received);
  if (count == -EAGAIN || count == -EINTR) return;
  if (count < 0) return evict(-count);
  if (!UdpBatch::is_full(received)) shard_.worker.loop.record_small_read();
  target_replied();
  forward(Direction::out, received);
  shard_.worker.loop.run_after_batch(shard_.batch());
}

void UdpFlow::recheck_filters() {
  const Reason source = shard_.recheck_source(caller_.source);
  if (source != kNoReason) return refuse(source);
  if (!target_) return;
  const Reason refusal = shard_.check_target(address_, shard_.rule->targets[target_index_].host);
  if (refusal != kNoReason) refuse(refusal);
}

void UdpFlow::refuse(Reason refusal) {
  if (has_ended_) return;
  shard_.rule->reject(refusal);
  end(ConnectionEnd::refused, refusal);
}

void UdpFlow::end(ConnectionEnd why, Reason refusal) {
  if (has_ended_) return;
  has_ended_ = true;
  settle();
  dialer_.cancel();
  attempt_.abandon();
  use_.release();
  source_uses_.release();
  divert_use_.release();
  admission_.leave();
  buffered_.reset();
  if (shard_.rule->report_ends) report_end(why, refusal);
  shard_.remove(*this);
}

bool UdpFlow::has_no_answer(int64_t now_ms) {
  if (unanswered_since_ms_ < 0 || !target_) return false;
  const int64_t patience_ms = shard_.rule->unanswered_ms;
  if (patience_ms == 0 || now_ms - unanswered_since_ms_ < patience_ms) return false;
  // The last datagram of an exchange may need no answer: after a pause, the target has the same time once more.
  if (!has_replied_ || has_resumed_ || now_ms - last_active_ms_ < patience_ms) return true;
  has_resumed_ = true;
  unanswered_since_ms_ = now_ms;
  return false;
}

void UdpFlow::dial_again(int64_t now_ms) {
  if (is_redialing_) return;
  count_silence(now_ms);
  unanswered_since_ms_ = now_ms;
  is_redialing_ = true;
  dialer_.begin_again(target_index_, address_);
}

/** Counts as a failure of the target, unless it is the only one or answers other flows. */
void UdpFlow::count_silence(int64_t now_ms) {
  shard_.record_silence(address_);
  if (shard_.rule->targets_of(divert_).size() < 2 || shard_.rule->has_replied_since(target_index_, unanswered_since_ms_)) return;
  if (has_replied_) reopen_attempt();
  has_replied_ = false;
  attempt_.fail("no_answer", now_ms);
}

void UdpFlow::check_silence(int64_t now_ms) {
  if (target_ && attempt_.is_open() && has_no_answer(now_ms)) count_silence(now_ms);
}

bool UdpFlow::is_stranded(const Rule& current) {
  if (!shard_.is_closed() || !has_no_answer(shard_.worker.loop.now_ms())) return false;
  const Divert* divert = divert_ != nullptr ? current.same_divert(*divert_) : nullptr;
  const TargetRange offered = current.targets_of(divert);
  if ((divert == nullptr) != (divert_ == nullptr) || offered.size() != 1) return true;
  const Target& own = shard_.rule->targets[target_index_];
  const Target& only = current.targets[offered.first];
  return only.host != own.host || only.port != own.port;
}

/** Starts another attempt at the target: the first one has its result. */
void UdpFlow::reopen_attempt() {
  shard_.rule->health.begin(target_index_);
  attempt_ = TargetAttempt(shard_.rule->health, target_index_);
}

/** Leaves a target that does not answer. Returns false if the flow has ended. */
bool UdpFlow::leave_target(const ConnectedUdpTarget& next) {
  is_redialing_ = false;
  shard_.batch().send();  // its socket may have datagrams in the queue
  if (has_ended_) return false;
  settle();
  shard_.worker.loop.unwatch(target_.get());
  if (divert_ == nullptr) shard_.record_redial(target_index_, address_, next.attempt.target(), next.address);
  needs_preamble_ = shard_.rule->preamble != nullptr;
  has_replied_ = false;
  unanswered_since_ms_ = shard_.worker.loop.now_ms();
  return true;
}

void UdpFlow::dial_succeeded(ConnectedUdpTarget connected) {
  if (target_ && !leave_target(connected)) return;
  target_ = std::move(connected.socket);
  address_ = connected.address;
  attempt_ = std::move(connected.attempt);
  target_index_ = attempt_.target();
  use_ = std::move(connected.use);
  if (shard_.is_reset(target_index_)) return end(ConnectionEnd::rule_closed);
  recheck_filters();
  if (has_ended_) return;
  if (const int error = shard_.worker.loop.watch(target_.get(), *this, EPOLLIN))
    return refuse(shard_.worker.context.local_refusal(-error));
  shard_.counters.targets[target_index_].connections.add(1);
  if (connected.is_failover && divert_ == nullptr) shard_.counters.failovers.add(1);
  send_buffered();
}

void UdpFlow::buffer(int slot) {
  const UdpBatch& batch = shard_.batch();
  if (!buffered_) buffered_ = std::make_unique<std::vector<std::vector<std::byte>>>();
  size_t total = batch.size(slot);
  for (const auto& one : *buffered_) total += one.size();
  if (!buffered_->empty() && (buffered_->size() == kMaxBuffered || total > kMaxBufferedBytes))
    return shard_.rule->reject(shard_.worker.context.refusals.pending_overflow);
  buffered_->emplace_back(batch.bytes(slot), batch.bytes(slot) + batch.size(slot));
}

void UdpFlow::send_buffered() {
  if (!buffered_) return;
  const auto buffered = std::move(buffered_);
  for (auto& one : *buffered) {
    if (has_ended_) return;
    send_alone(one.data(), one.size());
  }
}

/** Sends one datagram of the caller, after the preamble if that is due. */
void UdpFlow::send_alone(std::byte* bytes, size_t size) {
  if (needs_preamble_ && preamble_.empty())
    preamble_ = shard_.worker.write_preamble(*shard_.rule, caller_.source,
                                            caller_.destination.value_or(listen_address()), {});
  const auto count = static_cast<int64_t>(size);
  Reason refusal = kNoReason;
  if (needs_preamble_ && preamble_.size() + size > kMaxDatagramBytes)
    refusal = shard_.worker.context.refusals.datagram_too_large;
  else
    refusal = admission_.admit_datagram(Direction::in, count, shard_.worker.loop.now_us());
  if (refusal != kNoReason) return shard_.rule->reject(refusal);
  std::array<iovec, 2> parts{iovec{preamble_.data(), preamble_.size()}, {bytes, size}};
  msghdr head{};
  head.msg_iov = &parts[needs_preamble_ ? 0 : 1];
  head.msg_iovlen = needs_preamble_ ? 2 : 1;
  const int error = -sys::send_one(target_.get(), head);
  if (needs_preamble_ && error == 0) needs_preamble_ = shard_.rule->preamble->is_for_each_datagram;
  on_sent(Direction::in, 1, count, error);
}

void UdpFlow::forward(Direction direction, SlotRange run) {
  for (; direction == Direction::in && needs_preamble_ && run.size() > 0 && !has_ended_; run.first++)
    send_alone(shard_.batch().bytes(run.first), shard_.batch().size(run.first));
  if (has_ended_) return;
  for (int slot = run.first; slot < run.end; slot++) {
    const auto size = static_cast<int64_t>(shard_.batch().size(slot));
    const Reason refusal = admit(direction, size);
    if (refusal == kNoReason) continue;
    shard_.rule->reject(refusal);
    queue(direction, {run.first, slot});
    run.first = slot + 1;
  }
  queue(direction, run);
}

Reason UdpFlow::admit(Direction direction, int64_t size) {
  const auto& cap = shard_.rule->reply_cap;
  if (direction == Direction::out && cap && !replies_.may_reply(*cap, size)) return cap->refusal;
  return admission_.admit_datagram(direction, size, shard_.worker.loop.now_us());
}

void UdpFlow::queue(Direction direction, SlotRange run) {
  if (run.first == run.end) return;
  UdpBatch& batch = shard_.batch();
  if (direction == Direction::in)
    batch.queue(target_.get(), run, *this);
  else
    batch.queue(path_.listener, run, *this, &path_.source, &path_.reply_source);
}

void UdpFlow::on_sent(Direction direction, int count, int64_t bytes, int error) {
  if (error != 0 || (direction == Direction::in && is_evicted_)) {
    const auto& refusals = shard_.worker.context.refusals;
    admission_.undo_datagrams(direction, bytes);
    shard_.rule->reject(error == EMSGSIZE ? refusals.datagram_too_large : refusals.datagram_unsent, count);
    if (direction == Direction::in && error != 0) evict(error);
    return;
  }
  if (direction == Direction::in && unanswered_since_ms_ < 0) unanswered_since_ms_ = shard_.worker.loop.now_ms();
  if (direction == Direction::in && !has_ended_) return hold(count, bytes);
  this->count(direction, count, bytes);
}

void UdpFlow::count(Direction direction, int count, int64_t bytes) {
  PortCounters& port = shard_.counters.ports[path_.port_index];
  port.bytes[index_of(direction)].add(bytes);
  port.datagrams[index_of(direction)].add(count);
  shard_.counters.targets[target_index_].bytes[index_of(direction)].add(bytes);
  bytes_[index_of(direction)] += bytes;
  admission_.delivered(direction, bytes);
}

/** Delays counting of the newest message. The kernel accepted it without an error, so the previous one has arrived. */
void UdpFlow::hold(int count, int64_t bytes) {
  settle();
  unsettled_ = {bytes, shard_.worker.loop.now_ms(), count};
  if (!is_listed_) shard_.settle_later(*this);
  is_listed_ = true;
}

void UdpFlow::settle() {
  const auto [bytes, sent_ms, count] = std::exchange(unsettled_, {});
  if (count > 0) this->count(Direction::in, count, bytes);
}

bool UdpFlow::settle_old(int64_t now_ms) {
  if (unsettled_.sent_ms + kSettleMs <= now_ms) settle();
  is_listed_ = unsettled_.count > 0;
  return is_listed_;
}

void UdpFlow::target_replied() {
  settle();
  last_active_ms_ = shard_.worker.loop.now_ms();
  unanswered_since_ms_ = -1;
  has_resumed_ = false;
  shard_.counters.targets[target_index_].replied_ms.set(last_active_ms_);
  if (std::exchange(is_redialing_, false)) dialer_.cancel();
  if (has_replied_) return;
  has_replied_ = true;
  if (!attempt_.is_open()) reopen_attempt();  // its silence was counted
  attempt_.succeed();
}

/** Returns the local address that the caller sends to. */
Address UdpFlow::listen_address() const {
  return path_.reply_source.address().with_port(static_cast<uint16_t>(shard_.rule->from + path_.port_index));
}

bool UdpFlow::is_selected(const ConnectionSelection& selection) const {
  return selection.has(id_, caller_.source, address_) &&
         selection.has_target(shard_.rule->id, shard_.index_in_group(target_index_, divert_), divert_ != nullptr);
}

OpenConnection UdpFlow::row() const {
  const int64_t now_ms = shard_.worker.loop.now_ms();
  return {.id = id_,
          .rule = shard_.rule->id,
          .source = caller_.source,
          .listen = listen_address(),
          .target = address_,
          .target_index = shard_.index_in_group(target_index_, divert_),
          .divert = shard_.name_of(divert_),
          .age_ms = now_ms - opened_ms_,
          .idle_ms = now_ms - last_active_ms_,
          .bytes = bytes_,
          .held_by = -1,
          .sockets = {-1, -1}};
}

void UdpFlow::report_end(ConnectionEnd why, Reason refusal) {
  const int64_t duration_ms = shard_.worker.loop.now_ms() - opened_ms_;
  shard_.worker.ended.add({.rule = shard_.rule->id,
                           .owner = shard_.rule->descriptors.get(),
                           .source = caller_.source,
                           .listen = listen_address(),
                           .target = address_,
                           .target_index = shard_.index_in_group(target_index_, divert_),
                           .opened_at_ms = sys::unix_ms() - duration_ms,
                           .duration_ms = duration_ms,
                           .bytes = bytes_,
                           .end = why,
                           .refusal = refusal,
                           .divert = shard_.name_of(divert_)});
}

/** Ends the flow after an ICMP error. The caller's next datagram begins a new flow. */
void UdpFlow::evict(int error) {
  const char* reason = eviction_reason(error);
  if (has_ended_ || reason == nullptr) return;
  is_evicted_ = true;
  admission_.undo_datagrams(Direction::in, std::exchange(unsettled_, {}).bytes);
  shard_.record_refusal(address_);
  if (divert_ == nullptr) shard_.report_eviction(target_index_, error);
  if (!attempt_.is_open()) reopen_attempt();
  attempt_.fail(reason, shard_.worker.loop.now_ms());
  end(ConnectionEnd::target_unreachable);
}

}  // namespace sluice
