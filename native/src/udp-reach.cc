#include "udp-reach.h"

#include <cerrno>
#include <utility>

#include "udp-gate.h"
#include "udp-sys.h"

namespace sluice {

namespace {

/** It says nothing about the target. */
bool is_own_trouble(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM || error == EADDRNOTAVAIL;
}

}  // namespace

void UdpReach::begin() {
  Health& health = gate_.rule->health;
  if (health.are_all_failed()) desperate_ = health.longest_failed_first();
  go_on();
}

void UdpReach::give_up() {
  try_.abandon();
  if (token_ != 0) gate_.worker.forget(std::exchange(token_, 0));
}

void UdpReach::go_on() {
  while (begin_next()) {
    if (!target().literal) {
      token_ = gate_.worker.ask(*this, gate_.rule->id, target().host);
      return;
    }
    if (connect({*target().literal})) return;
  }
  owner_.unreached(refusal_);
}

bool UdpReach::begin_next() {
  Health& health = gate_.rule->health;
  const int count = static_cast<int>(gate_.rule->targets.size());
  if (!desperate_.empty()) {
    if (desperate_next_ == desperate_.size()) return false;
    target_ = desperate_[desperate_next_++];
    health.begin(target_);
    try_ = Try(health, target_);
    return true;
  }
  while (++target_ < count) {
    if (!health.begin_if_worth(target_, gate_.worker.loop.now_ms())) continue;
    try_ = Try(health, target_);
    return true;
  }
  return false;
}

void UdpReach::answered(const Answer& answer) {
  token_ = 0;
  if (answer.is_ok) {
    if (connect(answer.addresses)) return;
  } else {
    gate_.dns_failed(target().host, answer.reason);
    try_.fail(answer.reason, gate_.worker.loop.now_ms());
    is_failover_ = true;
  }
  go_on();
}

bool UdpReach::connect(const std::vector<Address>& addresses) {
  const auto port = static_cast<uint16_t>(target().port + port_index_);
  bool has_dialled = false;
  for (const Address& address : gate_.in_order(addresses, port)) {
    const Reason why = gate_.judge_target(address, target().host);
    if (why != kNoReason) {
      if (refusal_ == kNoReason) refusal_ = why;
      continue;
    }
    Fd socket;
    const int error = sys::connect_datagram(address, socket);
    if (error == 0) {
      owner_.reached({std::move(socket), address, std::move(try_), is_failover_});
      return true;
    }
    has_dialled = has_dialled || !is_own_trouble(-error);
  }
  if (has_dialled) {
    try_.fail("unreachable", gate_.worker.loop.now_ms());
    is_failover_ = true;
  } else {
    try_.abandon();
  }
  return false;
}

const Target& UdpReach::target() const { return gate_.rule->targets[target_]; }

}  // namespace sluice
