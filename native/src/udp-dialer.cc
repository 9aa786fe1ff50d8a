#include "udp-dialer.h"

#include <cerrno>
#include <utility>

#include "udp-rule-shard.h"
#include "udp-sys.h"

namespace sluice {

void UdpDialer::begin() {
  TargetHealth& health = shard_.rule->health;
  if (!chooser() && health.are_all_failed()) failed_targets_ = health.longest_failed_first();
  try_next();
}

void UdpDialer::cancel() {
  attempt_.abandon();
  use_.release();
  if (token_ != 0) shard_.worker.names.cancel(std::exchange(token_, 0));
}

void UdpDialer::try_next() {
  while (begin_next_target()) {
    if (!target().literal) {
      Names& names = shard_.worker.names;
      if (const auto known = names.find(shard_.rule->id, target().host)) return on_resolved(*known);
      token_ = names.ask(*this, shard_.rule->id, target().host);
      return;
    }
    if (connect({*target().literal})) return;
  }
  owner_.dial_failed(refusal_);
}

bool UdpDialer::begin_next_target() {
  TargetHealth& health = shard_.rule->health;
  const int count = static_cast<int>(shard_.rule->targets.size());
  if (!failed_targets_.empty()) {
    if (next_failed_ == failed_targets_.size()) return false;
    target_ = failed_targets_[next_failed_++];
    health.begin(target_);
    begin_attempt();
    return true;
  }
  const int64_t now_ms = shard_.worker.loop.now_ms();
  while ((target_ = chooser() ? chooser()->next(choice_, now_ms) : target_ + 1) >= 0 && target_ < count) {
    if (choice_.ignores_health)
      health.begin(target_);
    else if (!health.begin_if_due(target_, now_ms))
      continue;
    begin_attempt();
    return true;
  }
  return false;
}

void UdpDialer::begin_attempt() {
  attempt_ = TargetAttempt(shard_.rule->health, target_);
  use_ = TargetUse(shard_.counters.targets[target_]);
}

void UdpDialer::on_resolved(const ResolveAnswer& answer) {
  token_ = 0;
  if (answer.is_ok) {
    if (connect(answer.addresses)) return;
  } else {
    shard_.dns_failed(target().host, answer.reason);
    attempt_.fail(answer.reason, shard_.worker.loop.now_ms());
    is_failover_ = true;
  }
  try_next();
}

bool UdpDialer::connect(const std::vector<Address>& addresses) {
  const auto port = static_cast<uint16_t>(target().port + port_index_);
  const char* failure = nullptr;
  for (const Address& address : shard_.dial_order(addresses, port)) {
    const Reason refusal = shard_.check_target(address, target().host);
    if (refusal != kNoReason) {
      if (refusal_ == kNoReason) refusal_ = refusal;
      continue;
    }
    Fd socket;
    const int error = connect_to(address, socket);
    if (error == 0 && shard_.worker.is_self_connected(socket.get(), address)) {
      failure = "refused";
      continue;
    }
    if (error == 0) {
      owner_.dial_succeeded(
          {std::move(socket), address, std::move(attempt_), is_failover_, std::move(use_)});
      return true;
    }
    const Reason own = shard_.worker.context.local_refusal(-error);
    if (own == kNoReason && failure == nullptr)
      failure = error == sys::kNoSuchSource ? "source_unavailable" : "unreachable";
    if (refusal_ == kNoReason) refusal_ = own;
  }
  if (failure != nullptr) {
    attempt_.fail(failure, shard_.worker.loop.now_ms());
    is_failover_ = true;
  } else {
    attempt_.abandon();
  }
  return false;
}

/** Connects, unless no local port was left a moment ago. */
int UdpDialer::connect_to(const Address& address, Fd& socket) {
  LocalPorts& ports = shard_.worker.context.local_ports;
  const int64_t now_ms = shard_.worker.loop.now_ms();
  const Address* from = shard_.rule->dial_from.for_target(address);
  if (ports.are_used_up(address, from, now_ms)) return -EAGAIN;
  const int error = sys::connect_datagram(address, from, socket);
  if (error == -EAGAIN) ports.used_up(address, from, now_ms);
  return error;
}

TargetChooser* UdpDialer::chooser() const { return shard_.chooser.get(); }

const Target& UdpDialer::target() const { return shard_.rule->targets[target_]; }

}  // namespace sluice
