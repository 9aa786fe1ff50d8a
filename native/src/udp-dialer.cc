#include "udp-dialer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "udp-rule-shard.h"
#include "udp-sys.h"

namespace sluice {

void UdpDialer::begin(const Divert* divert) {
  TargetHealth& health = shard_.rule->health;
  targets_ = shard_.rule->targets_of(divert);
  chooser_ = divert == nullptr ? shard_.chooser.get() : nullptr;
  first_target_ = targets_.first;
  if (chooser_ == nullptr && health.are_all_failed(targets_.first, targets_.end))
    failed_targets_ = health.longest_failed_first(targets_.first, targets_.end);
  try_next();
}

void UdpDialer::begin_again(int silent_target, const Address& silent_address) {
  TargetHealth& health = shard_.rule->health;
  silent_ = Silent{silent_target, silent_address};
  spare_.clear();
  refusal_ = kNoReason;
  is_failover_ = true;
  has_started_over_ = false;
  target_ = first_target_ = silent_target;
  offset_ = 0;
  failed_targets_.clear();
  next_failed_ = 0;
  if (chooser_ == nullptr && health.are_all_failed(targets_.first, targets_.end)) {
    failed_targets_ = health.longest_failed_first(targets_.first, targets_.end);
    std::erase(failed_targets_, silent_target);
  }
  if (target().literal) return try_next();
  is_own_name_ = true;
  if (const auto known = resolve()) on_resolved(*known);
}

void UdpDialer::cancel() {
  attempt_.abandon();
  use_.release();
  if (token_ != 0) shard_.worker.names.cancel(std::exchange(token_, 0));
}

void UdpDialer::try_next() {
  while (begin_next_target()) {
    if (!target().literal) {
      if (const auto known = resolve()) on_resolved(*known);
      return;
    }
    if (connect(dial_order({*target().literal}))) return;
  }
  if (!spare_.empty() && connect_again(std::exchange(spare_, {}))) return;
  owner_.dial_failed(refusal_);
}

/** Returns a known answer, or asks and returns null. */
std::shared_ptr<const ResolveAnswer> UdpDialer::resolve() {
  Names& names = shard_.worker.names;
  auto known = names.find(shard_.rule->id, target().host);
  if (!known) token_ = names.ask(*this, shard_.rule->id, target().host);
  return known;
}

bool UdpDialer::begin_next_target() {
  TargetHealth& health = shard_.rule->health;
  if (!failed_targets_.empty()) {
    if (next_failed_ == failed_targets_.size()) return false;
    target_ = failed_targets_[next_failed_++];
    health.begin(target_);
    begin_attempt();
    return true;
  }
  const int64_t now_ms = shard_.worker.loop.now_ms();
  while (chooser_ != nullptr ? (target_ = choose(now_ms)) >= 0 : ++offset_ < targets_.size()) {
    if (chooser_ == nullptr)
      target_ = targets_.first + (first_target_ - targets_.first + offset_) % targets_.size();
    if (choice_.ignores_health)
      health.begin(target_);
    else if (!health.begin_if_due(target_, now_ms))
      continue;
    begin_attempt();
    return true;
  }
  return false;
}

/** Returns a target that the flow has not tried. When it has tried all, each but the silent one gets another turn. */
int UdpDialer::choose(int64_t now_ms) {
  const int chosen = chooser_->next(choice_, now_ms);
  if (chosen >= 0 || !silent_ || has_started_over_) return chosen;
  has_started_over_ = true;
  choice_.tried.assign(targets_.size(), false);
  choice_.tried[silent_->target] = true;
  return chooser_->next(choice_, now_ms);
}

void UdpDialer::begin_attempt() {
  attempt_ = TargetAttempt(shard_.rule->health, target_);
  use_ = TargetUse(shard_.counters.targets[target_]);
}

void UdpDialer::on_resolved(const ResolveAnswer& answer) {
  token_ = 0;
  if (std::exchange(is_own_name_, false)) return own_name_resolved(answer);
  if (answer.is_ok) {
    if (connect(dial_order(answer.addresses))) return;
  } else {
    shard_.dns_failed(target().host, answer.reason);
    attempt_.fail_lookup(answer.reason, shard_.worker.loop.now_ms());
    is_failover_ = true;
  }
  try_next();
}

/** Leaves an address that the name no longer has; else remembers its other addresses, for the case that no target is left. */
void UdpDialer::own_name_resolved(const ResolveAnswer& answer) {
  if (!answer.is_ok) shard_.dns_failed(target().host, answer.reason);
  std::vector<Address> order = answer.is_ok ? dial_order(answer.addresses) : std::vector<Address>{};
  const auto found = std::ranges::find(order, silent_->address);
  if (found != order.end()) {
    std::rotate(order.begin(), found, order.end());
    order.erase(order.begin());
    spare_ = std::move(order);
  } else if (!order.empty() && connect_again(order)) {
    return;
  }
  try_next();
}

/** Connects to another address of the silent target. */
bool UdpDialer::connect_again(const std::vector<Address>& order) {
  target_ = silent_->target;
  shard_.rule->health.begin(target_);
  begin_attempt();
  return connect(order);
}

std::vector<Address> UdpDialer::dial_order(const std::vector<Address>& addresses) const {
  return shard_.dial_order(addresses, static_cast<uint16_t>(target().port + port_index_));
}

bool UdpDialer::connect(const std::vector<Address>& order) {
  const char* failure = nullptr;
  for (const Address& address : order) {
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

const Target& UdpDialer::target() const { return shard_.rule->targets[target_]; }

}  // namespace sluice
