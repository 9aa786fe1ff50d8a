// The datagrams that a thread has in hand: received many at a time, sent in as few calls as they allow.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "address.h"
#include "loop.h"
#include "meter.h"

namespace sluice {

/** Who has sent, as the kernel writes it: with its zone. */
struct UdpCaller {
  std::array<std::byte, sizeof(sockaddr_in6)> raw{};
  socklen_t size = 0;

  Address address() const;
  bool operator==(const UdpCaller& other) const = default;
};

/** The address of ours that a caller has sent to: the control message that makes a reply come from there. */
struct UdpDoor {
  static constexpr size_t kMostBytes = CMSG_SPACE(sizeof(in6_pktinfo));
  alignas(cmsghdr) std::array<std::byte, kMostBytes> control{};
  size_t size = 0;  // 0: the system chooses
};

/** Whose datagrams are sent. Hears how it went while the batch sends them; must live until then. */
class UdpSender {
 public:
  virtual void sent(Direction direction, int count, int64_t bytes) = 0;
  virtual void unsent(Direction direction, int count, int64_t bytes, int error) = 0;

 protected:
  ~UdpSender() = default;

 private:
  friend class UdpBatch;
  /** The kernel has refused to cut runs of larger datagrams. By direction. */
  std::array<size_t, 2> most_cut_{UdpSender::kNoLimit, UdpSender::kNoLimit};
  static constexpr size_t kNoLimit = SIZE_MAX;
};

/** Slots follow one another. */
struct Span {
  int first = 0;
  int end = 0;
};

/** One a thread. Its turn comes when all that is ready has been read: replies of many flows leave together. */
class UdpBatch final : public Turn {
 public:
  static constexpr int kSlots = 64;
  static constexpr size_t kSlotBytes = 65'536;  // more than any datagram
  // Slots a power of two apart would share a few sets of the processor's caches.
  static constexpr size_t kSlotStride = kSlotBytes + 192;

  UdpBatch();
  UdpBatch(const UdpBatch&) = delete;
  UdpBatch& operator=(const UdpBatch&) = delete;

  /** Receives into free slots, sending what is queued first when they are few. How many came, or an errno. */
  int receive(int socket, Span& got);
  static bool has_filled(Span got) { return got.end == kSlots; }

  const std::byte* bytes(int slot) const { return static_cast<const std::byte*>(parts_[slot].iov_base); }
  size_t size(int slot) const { return parts_[slot].iov_len; }
  UdpCaller caller(int slot) const;
  UdpDoor door(int slot) const;
  bool is_same_caller(int a, int b) const;

  /** `to` null: the peer of a connected socket. */
  void queue(int socket, Span run, UdpSender& sender, const UdpCaller* to = nullptr,
             const UdpDoor* door = nullptr);
  /** Sends what is queued. */
  void send();
  /** The same, and all slots are free again. */
  void flush();
  void take_turn() override { flush(); }

 private:
  struct Parcel {
    UdpSender* sender;
    Span run;
    Direction direction;
    UdpCaller to;
    // Room for the address of ours and for the size to cut at.
    alignas(cmsghdr) std::array<std::byte, UdpDoor::kMostBytes + CMSG_SPACE(sizeof(uint16_t))> control;
  };

  void arm(Span slots);
  int end_of_run(Span run, size_t most_cut) const;
  void pack(Span run, UdpSender& sender, const UdpCaller* to, const UdpDoor* door);
  void send_apart(int parcel);
  void refused(int parcel, int error);
  int64_t bytes_in(Span run) const;

  const std::unique_ptr<std::byte[]> memory_;  // touched as far as datagrams are long
  std::array<iovec, kSlots> parts_;
  std::array<mmsghdr, kSlots> in_{};
  std::array<sockaddr_in6, kSlots> names_{};
  struct Control {
    alignas(cmsghdr) std::array<std::byte, UdpDoor::kMostBytes> bytes;
  };
  std::array<Control, kSlots> controls_{};
  int used_ = 0;

  std::array<mmsghdr, kSlots> out_{};
  std::array<Parcel, kSlots> parcels_{};
  int queued_ = 0;
  int out_socket_ = -1;
};

}  // namespace sluice
