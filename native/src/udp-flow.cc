#include "udp-flow.h"

#include <string.h>

#include <cerrno>

#include "udp-gate.h"
#include "udp-sys.h"

namespace sluice {

namespace {

/** What may wait for the target; the first datagram always does. */
constexpr size_t kMostKept = 64;
constexpr size_t kMostKeptBytes = 64 * 1024;

/** What ICMP has said of an earlier datagram; other errors are about the one that was sent. */
const char* eviction_of(int error) {
  switch (error) {
    case ECONNREFUSED: return "refused";
    case EHOSTUNREACH:
    case ENETUNREACH: return "unreachable";
    default: return nullptr;
  }
}

}  // namespace

UdpFlow::UdpFlow(UdpGate& gate, const UdpWay& way)
    : gate_(gate),
      way_(way),
      pass_(gate.rule->meters),
      reach_(gate, way.port_index, *this),
      seen_ms_(gate.worker.loop.now_ms()) {}

UdpFlow::~UdpFlow() = default;

Reason UdpFlow::enter() { return pass_.enter(gate_.worker.loop.now_us()); }

void UdpFlow::take(Span run) {
  seen_ms_ = gate_.worker.loop.now_ms();
  door_ = gate_.batch().door(run.end - 1);
  if (target_) return pass(Direction::in, run);
  for (int slot = run.first; slot < run.end; slot++) keep(slot);
}

void UdpFlow::ready(uint32_t) {
  if (is_over_) return;
  Span got;
  const int count = gate_.batch().receive(target_.get(), got);
  if (count == -EAGAIN || count == -EINTR) return;
  if (count < 0) return evict(-count);
  if (!UdpBatch::has_filled(got)) gate_.worker.loop.saw_small();
  answered();
  pass(Direction::out, got);
  gate_.worker.loop.after_batch(gate_.batch());
}

void UdpFlow::judge() {
  const Reason source = gate_.judge_source(way_.caller.address());
  if (source != kNoReason) return end(source);
  if (!target_) return;
  const Reason refusal = gate_.judge_target(address_, gate_.rule->targets[target_index_].host);
  if (refusal != kNoReason) end(refusal);
}

void UdpFlow::end(Reason refusal) {
  if (is_over_) return;
  is_over_ = true;
  reach_.give_up();
  try_.abandon();
  pass_.leave();
  kept_.reset();
  if (refusal != kNoReason) gate_.rule->reject(refusal);
  gate_.drop(*this);
}

void UdpFlow::reached(UdpReached reached) {
  target_ = std::move(reached.socket);
  address_ = reached.address;
  try_ = std::move(reached.attempt);
  target_index_ = try_.target();
  judge();
  if (is_over_) return;
  if (gate_.worker.loop.watch(target_.get(), *this, EPOLLIN) != 0) return end(kNoReason);
  gate_.counters.targets[target_index_].connections.add(1);
  if (reached.is_failover) gate_.counters.failovers.add(1);
  send_kept();
}

void UdpFlow::keep(int slot) {
  const UdpBatch& batch = gate_.batch();
  if (!kept_) kept_ = std::make_unique<std::vector<std::vector<std::byte>>>();
  size_t total = batch.size(slot);
  for (const auto& one : *kept_) total += one.size();
  if (!kept_->empty() && (kept_->size() == kMostKept || total > kMostKeptBytes)) return;
  kept_->emplace_back(batch.bytes(slot), batch.bytes(slot) + batch.size(slot));
}

void UdpFlow::send_kept() {
  if (!kept_) return;
  const auto kept = std::move(kept_);
  for (auto& one : *kept) {
    if (is_over_) return;
    const auto size = static_cast<int64_t>(one.size());
    const Reason refusal = pass_.admit(Direction::in, size, gate_.worker.loop.now_us());
    if (refusal != kNoReason) {
      gate_.rule->reject(refusal);
      continue;
    }
    iovec part{one.data(), one.size()};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    const int error = sys::send_one(target_.get(), head);
    if (error == 0) sent(Direction::in, 1, size);
    else unsent(Direction::in, 1, size, -error);
  }
}

void UdpFlow::pass(Direction direction, Span run) {
  for (int slot = run.first; slot < run.end; slot++) {
    const auto size = static_cast<int64_t>(gate_.batch().size(slot));
    const Reason refusal = pass_.admit(direction, size, gate_.worker.loop.now_us());
    if (refusal == kNoReason) continue;
    gate_.rule->reject(refusal);
    queue(direction, {run.first, slot});
    run.first = slot + 1;
  }
  queue(direction, run);
}

void UdpFlow::queue(Direction direction, Span run) {
  if (run.first == run.end) return;
  UdpBatch& batch = gate_.batch();
  if (direction == Direction::in) batch.queue(target_.get(), run, *this);
  else batch.queue(way_.listener, run, *this, &way_.caller, &door_);
}

void UdpFlow::sent(Direction direction, int count, int64_t bytes) {
  PortRow& port = gate_.counters.ports[way_.port_index];
  port.bytes[index_of(direction)].add(bytes);
  port.datagrams[index_of(direction)].add(count);
  gate_.counters.targets[target_index_].bytes[index_of(direction)].add(bytes);
  pass_.delivered(direction, bytes);
}

void UdpFlow::unsent(Direction direction, int, int64_t bytes, int error) {
  pass_.returned(direction, bytes);
  if (direction == Direction::in) evict(error);
}

void UdpFlow::answered() {
  seen_ms_ = gate_.worker.loop.now_ms();
  if (has_answered_) return;
  has_answered_ = true;
  try_.succeed();
}

/** The way to the target says that nobody is there. The caller's next datagram begins a new flow. */
void UdpFlow::evict(int error) {
  const char* reason = eviction_of(error);
  if (is_over_ || reason == nullptr) return;
  gate_.evicted(target_index_, address_, error);
  if (has_answered_) {
    gate_.rule->health.begin(target_index_);
    try_ = Try(gate_.rule->health, target_index_);
  }
  try_.fail(reason, gate_.worker.loop.now_ms());
  end(kNoReason);
}

}  // namespace sluice
