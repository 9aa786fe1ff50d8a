// Receives and sends the datagrams of a thread with as few system calls as possible.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "address.h"
#include "event-loop.h"
#include "meter.h"

namespace sluice {

/** The source address of a datagram as the kernel writes it, with its IPv6 zone. */
struct SourceAddress {
  std::array<std::byte, sizeof(sockaddr_in6)> raw{};
  socklen_t size = 0;

  Address address() const;
  bool operator==(const SourceAddress& other) const = default;
};

/** The local address that a caller sent to. Replies leave from it. */
struct ReplySource {
  static constexpr size_t kMaxControlBytes = CMSG_SPACE(sizeof(in6_pktinfo));
  std::array<std::byte, sizeof(in6_addr)> bytes{};  // IPv4 uses the first four; the others are 0
  uint32_t zone = 0;               // interface of a link-local address, else 0
  sa_family_t family = AF_UNSPEC;  // AF_UNSPEC: the kernel chooses the address

  Address address() const;
  /** Writes the control message that makes a datagram leave from this address (ip(7)). Returns its size. */
  size_t put_control(std::byte* at) const;
  bool operator==(const ReplySource& other) const = default;
};

/** The sender of queued datagrams. Must live until `UdpBatch::send` has reported the result. */
class UdpSender {
 public:
  /** `error`: 0 or a positive errno. */
  virtual void on_sent(Direction direction, int count, int64_t bytes, int error) = 0;

 protected:
  ~UdpSender() = default;

 private:
  friend class UdpBatch;
  /** Larger datagrams are sent one by one, since the kernel has refused to segment them. By direction. */
  std::array<size_t, 2> max_segment_{UdpSender::kNoLimit, UdpSender::kNoLimit};
  static constexpr size_t kNoLimit = SIZE_MAX;
};

/** Consecutive slots, `end` excluded. */
struct SlotRange {
  int first = 0;
  int end = 0;
  int size() const { return end - first; }
};

/** One per thread, flushed after a batch of events: replies of many flows leave in one call. */
class UdpBatch final : public DeferredTask {
 public:
  static constexpr int kSlots = 64;
  static constexpr size_t kSlotBytes = 65'536;  // more than any datagram
  // Slots a power of two apart would compete for a few sets of the processor's cache.
  static constexpr size_t kSlotStride = kSlotBytes + 192;

  UdpBatch();

  /** Receives into free slots; flushes first when few are left. Returns a count or a negative errno. */
  int receive(int socket, SlotRange& received);
  static bool is_full(SlotRange received) { return received.end == kSlots; }

  std::byte* bytes(int slot) const { return static_cast<std::byte*>(buffers_[slot].iov_base); }
  size_t size(int slot) const { return buffers_[slot].iov_len; }
  /** Takes the first bytes off a datagram. */
  void remove_front(int slot, size_t count) {
    buffers_[slot] = {bytes(slot) + count, size(slot) - count};
  }
  SourceAddress source(int slot) const;
  ReplySource reply_source(int slot) const;
  /** True if a datagram was sent to a broadcast or multicast address. */
  bool is_to_many(int slot) const;
  /** True if two datagrams have the same source and the same local address. */
  bool is_same_path(int a, int b) const;

  /** Queues a run of slots. Without a destination the socket must be connected. */
  void queue(int socket, SlotRange run, UdpSender& sender, const SourceAddress* destination = nullptr,
             const ReplySource* reply_source = nullptr);
  void send();
  /** Sends what is queued and frees all slots. */
  void flush();
  void run_deferred() override { flush(); }

 private:
  struct QueuedMessage {
    UdpSender* sender;
    SlotRange run;
    Direction direction;
    SourceAddress destination;
    // Room for a ReplySource and for the segment size.
    alignas(cmsghdr) std::array<std::byte, ReplySource::kMaxControlBytes + CMSG_SPACE(sizeof(uint16_t))> control;
  };

  void prepare(SlotRange slots);
  int segment_run_end(SlotRange run, size_t max_segment) const;
  void enqueue(SlotRange run, UdpSender& sender, const SourceAddress* destination,
               const ReplySource* reply_source);
  void send_individually(int at);
  void handle_refusal(int at, int error);
  int64_t total_bytes(SlotRange run) const;

  const std::unique_ptr<std::byte[]> memory_;  // pages are touched only as far as datagrams are long
  std::array<iovec, kSlots> buffers_;
  std::array<mmsghdr, kSlots> in_{};
  std::array<sockaddr_in6, kSlots> addresses_{};
  struct Control {
    alignas(cmsghdr) std::array<std::byte, ReplySource::kMaxControlBytes> bytes;
  };
  std::array<Control, kSlots> controls_{};
  int used_ = 0;

  std::array<mmsghdr, kSlots> out_{};
  std::array<QueuedMessage, kSlots> messages_{};
  int queued_ = 0;
  int out_socket_ = -1;
};

}  // namespace sluice
