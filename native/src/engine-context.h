// The state that all threads of one engine share.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

#include "descriptors.h"
#include "engine-events.h"
#include "local-ports.h"
#include "own-ports.h"
#include "reasons.h"
#include "source-limits.h"

namespace sluice {

/** A histogram of how long callers waited until their TLS name was known or refused. */
struct PeekHistogram {
  static constexpr std::array<double, 15> kBoundsMs{0.1, 0.25, 0.5, 1,   2.5,  5,    10,  25,
                                                    50,  100,  250, 500, 1000, 2000, 3000};
  std::array<std::atomic<int64_t>, kBoundsMs.size() + 1> counts{};
  std::atomic<int64_t> sum_us{0};

  void add(int64_t us) {
    const auto bound = std::ranges::find_if(kBoundsMs, [us](double ms) { return us <= ms * 1000; });
    counts[bound - kBoundsMs.begin()].fetch_add(1, std::memory_order_relaxed);
    sum_us.fetch_add(us, std::memory_order_relaxed);
  }
};

struct EngineContext {
  EngineContext(std::vector<Address> bind, bool may_splice, int64_t dead_peer_ms, std::function<void()> wake,
                std::function<void(std::shared_ptr<DescriptorShare>)> on_owed)
      : bind(std::move(bind)),
        may_splice(may_splice),
        dead_peer_ms(dead_peer_ms),
        events(std::move(wake)),
        descriptors(std::move(on_owed)) {}

  const std::vector<Address> bind;
  const bool may_splice;
  const int64_t dead_peer_ms;  // a peer that acknowledges nothing for this long has failed; 0: never
  EventQueue events;
  Reasons reasons;
  OwnPorts tcp_ports;
  OwnPorts udp_ports;
  Descriptors descriptors;
  LocalPorts local_ports;
  PeekHistogram peeks;
  SourceRates source_rates;
  const struct {
    Reason loop, descriptors, owner_share, no_memory, no_local_port, no_target, sni_miss, sni_timeout, sni_overflow,
        datagram_too_large, datagram_unsent, pending_overflow;
  } refusals{reasons.id_of("loop"),
             reasons.id_of("descriptors"),
             reasons.id_of("owner_share"),
             reasons.id_of("no_memory"),
             reasons.id_of("no_local_port"),
             reasons.id_of("no_target"),
             reasons.id_of("sni_miss"),
             reasons.id_of("sni_timeout"),
             reasons.id_of("sni_overflow"),
             reasons.id_of("datagram_too_large"),
             reasons.id_of("datagram_unsent"),
             reasons.id_of("pending_overflow")};

  /** Reserves descriptors for an owner; returns the reason of the refusal. */
  Reason reserve(DescriptorShare& share, int64_t count) {
    switch (share.reserve(count)) {
      case DescriptorShare::Grant::reserved: return kNoReason;
      case DescriptorShare::Grant::none_left: return refusals.descriptors;
      case DescriptorShare::Grant::share_used: return refusals.owner_share;
    }
    return kNoReason;
  }
  /** Returns the reason if an error is this host's fault, not the target's; otherwise `kNoReason`. */
  Reason local_refusal(int error) const {
    switch (error) {
      case EMFILE:
      case ENFILE: return refusals.descriptors;
      case EADDRNOTAVAIL:
      case EAGAIN: return refusals.no_local_port;  // EAGAIN: of a datagram socket
      case ENOBUFS:
      case ENOMEM:
      case ENOSPC: return refusals.no_memory;  // ENOSPC: fs.epoll.max_user_watches
      default: return kNoReason;
    }
  }
};

}  // namespace sluice
