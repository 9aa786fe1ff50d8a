// One flow: what a caller sends from one address is kept, reaches a target, is answered, ends.
#pragma once

#include <memory>
#include <vector>

#include "udp-batch.h"
#include "udp-reach.h"

namespace sluice {

/** Where a caller's datagrams come in and replies go out. */
struct UdpWay {
  int listener;
  int port_index;
  UdpCaller caller;
};

class UdpFlow final : public Watcher, private UdpSender, private UdpReachOwner {
 public:
  UdpFlow(UdpGate& gate, const UdpWay& way);
  ~UdpFlow() override;

  /** The reason of a refusal by a meter, or none and it is in. */
  Reason enter();
  /** Looks for a target; may end within the call. */
  void begin() { reach_.begin(); }
  /** Datagrams of the caller; replies go out by the door that the latest came in by. */
  void take(Span run);
  /** Of its target. */
  void ready(uint32_t events) override;
  /** Filters have changed, or the target has been reached meanwhile. */
  void judge();
  void end(Reason refusal);

  bool is_over() const { return is_over_; }
  int64_t seen_ms() const { return seen_ms_; }
  const UdpWay& way() const { return way_; }

 private:
  void reached(UdpReached reached) override;
  void unreached(Reason refusal) override { end(refusal); }
  void sent(Direction direction, int count, int64_t bytes) override;
  void unsent(Direction direction, int count, int64_t bytes, int error) override;
  void keep(int slot);
  void send_kept();
  /** Queues what the meters let pass. */
  void pass(Direction direction, Span run);
  void queue(Direction direction, Span run);
  void answered();
  void evict(int error);

  UdpGate& gate_;
  const UdpWay way_;
  Pass pass_;
  UdpReach reach_;
  Fd target_;  // closed when the flow is freed: until then datagrams may be queued for it
  Address address_;
  Try try_;
  int target_index_ = -1;
  UdpDoor door_;
  std::unique_ptr<std::vector<std::vector<std::byte>>> kept_;  // while there is no target
  int64_t seen_ms_;
  bool has_answered_ = false;
  bool is_over_ = false;
};

}  // namespace sluice
