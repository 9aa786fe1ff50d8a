// A UDP flow: the datagrams of one source address to one port, forwarded to one target, and its replies.
#pragma once

#include <memory>
#include <vector>

#include "reply-cap.h"
#include "udp-batch.h"
#include "udp-dialer.h"

namespace sluice {

/** The listener, the source address and the local address of a flow: replies go back this way. */
struct UdpPath {
  int listener;  // descriptor
  int port_index;
  SourceAddress source;
  ReplySource reply_source;
};

class UdpFlow final : public FdWatcher, private UdpSender, private DialerOwner<ConnectedUdpTarget> {
 public:
  UdpFlow(UdpRuleShard& shard, const UdpPath& path, const NamedCaller& caller);

  /** Enters the limits of its source, its divert and the rule's meters, or returns the reason of the refusal. */
  Reason enter();
  /** Starts dialing for this many datagrams, which follow; the flow may end within the call. */
  void begin(int datagrams);
  /** Handles datagrams of the caller. */
  void receive(SlotRange run);
  /** Handles replies of the target. */
  void ready(uint32_t events) override;
  /** Ends the flow if the current filters no longer allow it. */
  void recheck_filters();
  /** Counts the silence of a target that has never answered, for the choice of new flows. */
  void check_silence(int64_t now_ms);
  /** True if the flow of a replaced rule has no answer, and the current rule has something else to offer. */
  bool is_stranded(const Rule& current);
  void end(ConnectionEnd why, Reason refusal = kNoReason);
  void refuse(Reason refusal);
  /** Counts messages sent at least `kSettleMs` ago. Returns true if a message is still uncounted. */
  bool settle_old(int64_t now_ms);
  /** How long an ICMP error may take. Datagrams that it refuses are not counted as delivered. */
  static constexpr int64_t kSettleMs = 250;

  bool has_ended() const { return has_ended_; }
  bool is_selected(const ConnectionSelection& selection) const;
  OpenConnection row() const;
  int64_t last_active_ms() const { return last_active_ms_; }
  const UdpPath& path() const { return path_; }

  int target_index() const { return target_index_; }  // -1: none yet

  size_t index = 0;  // among the flows of its shard

 private:
  void dial_succeeded(ConnectedUdpTarget connected) override;
  void dial_failed(Reason refusal) override;
  void on_sent(Direction direction, int count, int64_t bytes, int error) override;
  void send_alone(std::byte* bytes, size_t size);
  void buffer(int slot);
  void send_buffered();
  /** Queues the datagrams that the meters admit; drops the others. */
  void forward(Direction direction, SlotRange run);
  Reason admit(Direction direction, int64_t size);
  void queue(Direction direction, SlotRange run);
  void count(Direction direction, int count, int64_t bytes);
  void hold(int count, int64_t bytes);
  void settle();
  void target_replied();
  bool has_no_answer(int64_t now_ms);
  void dial_again(int64_t now_ms);
  bool leave_target(const ConnectedUdpTarget& next);
  void count_silence(int64_t now_ms);
  void reopen_attempt();
  void evict(int error);
  Address listen_address() const;
  void report_end(ConnectionEnd why, Reason refusal);

  // Each datagram uses these. They are adjacent, because a thousand flows do not fit into the processor's cache.
  UdpRuleShard& shard_;
  Fd target_;  // closed with the flow, since datagrams may be queued for it until then
  int target_index_ = -1;
  Admission admission_;
  const UdpPath path_;
  int64_t last_active_ms_;
  int64_t unanswered_since_ms_ = -1;  // when the first datagram was sent that has no answer; -1: none
  std::array<int64_t, 2> bytes_{};    // delivered, by direction
  /** The newest message to the target, of one or more datagrams. Not counted yet: ICMP may name it as refused. */
  struct {
    int64_t bytes;
    int64_t sent_ms;
    int count;  // 0: none
  } unsettled_{};
  bool needs_preamble_;     // before the next datagram to the target
  bool is_listed_ = false;  // in the shard's list of flows to settle
  bool is_evicted_ = false;
  bool has_replied_ = false;   // the target
  bool has_resumed_ = false;   // the caller, after a pause without an answer
  bool is_redialing_ = false;  // and keeps its target until another one is connected
  bool has_ended_ = false;
  ReplyAccount replies_;

  const int64_t id_;
  const int64_t opened_ms_;
  const NamedCaller caller_;
  Address address_;
  TargetAttempt attempt_;
  TargetUse use_;
  SourceUses source_uses_;
  const Divert* divert_ = nullptr;  // null: the targets of the rule
  DivertUse divert_use_;
  std::string preamble_;  // written for the first datagram
  std::unique_ptr<std::vector<std::vector<std::byte>>> buffered_;  // until there is a target
  int expected_ = 0;  // datagrams that have arrived and are not buffered yet
  UdpDialer dialer_;
};

}  // namespace sluice
