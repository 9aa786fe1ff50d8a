#include "udp-batch.h"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "udp-sys.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace sluice {

namespace {

constexpr int kFewSlots = 16;
constexpr size_t kMostCutBytes = 65'000;  // together with headers less than a datagram may have

/** One control message; gives the room that it takes. */
template <class Value>
size_t put_control(std::byte* at, int level, int type, const Value& value) {
  auto* head = reinterpret_cast<cmsghdr*>(at);
  head->cmsg_level = level;
  head->cmsg_type = type;
  head->cmsg_len = CMSG_LEN(sizeof value);
  std::memcpy(CMSG_DATA(head), &value, sizeof value);
  return CMSG_SPACE(sizeof value);
}

template <class Value>
Value value_of(const cmsghdr& head) {
  Value value;
  std::memcpy(&value, CMSG_DATA(&head), sizeof value);
  return value;
}

bool is_cutting_refused(int error) { return error == EIO || error == EINVAL || error == EMSGSIZE; }

}  // namespace

Address UdpCaller::address() const {
  sockaddr_storage storage{};
  std::memcpy(&storage, raw.data(), raw.size());
  return Address::from(storage);
}

UdpBatch::UdpBatch() : memory_(std::make_unique_for_overwrite<std::byte[]>(kSlots * kSlotStride)) {
  arm({0, kSlots});
}

void UdpBatch::arm(Span slots) {
  for (int slot = slots.first; slot < slots.end; slot++) {
    parts_[slot] = {&memory_[slot * kSlotStride], kSlotBytes};
    msghdr& head = in_[slot].msg_hdr;
    head.msg_name = &names_[slot];
    head.msg_namelen = sizeof names_[slot];
    head.msg_iov = &parts_[slot];
    head.msg_iovlen = 1;
    head.msg_control = controls_[slot].bytes.data();
    head.msg_controllen = controls_[slot].bytes.size();
    head.msg_flags = 0;
  }
}

int UdpBatch::receive(int socket, Span& got) {
  if (kSlots - used_ < kFewSlots) flush();
  const int count = sys::receive_many(socket, &in_[used_], kSlots - used_);
  got = {used_, used_ + std::max(count, 0)};
  for (int slot = got.first; slot < got.end; slot++) parts_[slot].iov_len = in_[slot].msg_len;
  used_ = got.end;
  return count;
}

UdpCaller UdpBatch::caller(int slot) const {
  UdpCaller caller;
  caller.size = std::min<socklen_t>(in_[slot].msg_hdr.msg_namelen, sizeof names_[slot]);
  std::memcpy(caller.raw.data(), &names_[slot], caller.size);
  return caller;
}

bool UdpBatch::is_same_caller(int a, int b) const {
  const socklen_t size = in_[a].msg_hdr.msg_namelen;
  return size == in_[b].msg_hdr.msg_namelen && std::memcmp(&names_[a], &names_[b], size) == 0;
}

UdpDoor UdpBatch::door(int slot) const {
  UdpDoor door;
  msghdr head = in_[slot].msg_hdr;
  for (cmsghdr* one = CMSG_FIRSTHDR(&head); one != nullptr; one = CMSG_NXTHDR(&head, one)) {
    if (one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      info.ipi_spec_dst = value_of<in_pktinfo>(*one).ipi_spec_dst;  // also what a broadcast is answered from
      door.size = put_control(door.control.data(), IPPROTO_IP, IP_PKTINFO, info);
    }
    if (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_PKTINFO) {
      auto info = value_of<in6_pktinfo>(*one);
      if (IN6_IS_ADDR_MULTICAST(&info.ipi6_addr)) continue;
      // Only an address of one link needs to know which; others may leave by another interface.
      if (!IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) info.ipi6_ifindex = 0;
      door.size = put_control(door.control.data(), IPPROTO_IPV6, IPV6_PKTINFO, info);
    }
  }
  return door;
}

void UdpBatch::queue(int socket, Span run, UdpSender& sender, const UdpCaller* to, const UdpDoor* door) {
  if (socket != out_socket_) send();
  out_socket_ = socket;
  const size_t most_cut = sender.most_cut_[index_of(to == nullptr ? Direction::in : Direction::out)];
  while (run.first < run.end) {
    const Span part{run.first, end_of_run(run, most_cut)};
    pack(part, sender, to, door);
    run.first = part.end;
  }
}

/** Datagrams of one size, and one that is shorter: the kernel cuts them again. */
int UdpBatch::end_of_run(Span run, size_t most_cut) const {
  const size_t first = size(run.first);
  int end = run.first + 1;
  if (first == 0 || first > most_cut) return end;
  size_t total = first;
  while (end < run.end && size(end) > 0 && size(end) <= first && total + size(end) <= kMostCutBytes) {
    total += size(end++);
    if (size(end - 1) < first) break;
  }
  return end;
}

void UdpBatch::pack(Span run, UdpSender& sender, const UdpCaller* to, const UdpDoor* door) {
  Parcel& parcel = parcels_[queued_];
  parcel.sender = &sender;
  parcel.run = run;
  parcel.direction = to == nullptr ? Direction::in : Direction::out;
  msghdr& head = out_[queued_].msg_hdr;
  head = {};
  head.msg_iov = &parts_[run.first];
  head.msg_iovlen = run.end - run.first;
  if (to != nullptr) {
    parcel.to = *to;
    head.msg_name = parcel.to.raw.data();
    head.msg_namelen = parcel.to.size;
  }
  size_t control = 0;
  if (door != nullptr && door->size > 0) {
    std::memcpy(parcel.control.data(), door->control.data(), door->size);
    control = door->size;
  }
  if (run.end - run.first > 1) {
    const auto cut = static_cast<uint16_t>(size(run.first));
    control += put_control(parcel.control.data() + control, IPPROTO_UDP, UDP_SEGMENT, cut);
  }
  head.msg_control = control > 0 ? parcel.control.data() : nullptr;
  head.msg_controllen = control;
  queued_++;
}

void UdpBatch::send() {
  for (int at = 0; at < queued_;) {
    const int count = sys::send_many(out_socket_, &out_[at], queued_ - at);
    if (count == -EINTR) continue;
    for (const int end = at + std::max(count, 0); at < end; at++) {
      const Parcel& parcel = parcels_[at];
      parcel.sender->sent(parcel.direction, parcel.run.end - parcel.run.first, bytes_in(parcel.run));
    }
    if (count <= 0) refused(at++, -count);
  }
  queued_ = 0;
}

void UdpBatch::refused(int at, int error) {
  const Parcel& parcel = parcels_[at];
  const int count = parcel.run.end - parcel.run.first;
  if (count == 1 || !is_cutting_refused(error))
    return parcel.sender->unsent(parcel.direction, count, bytes_in(parcel.run), error);
  // Too long for the way there, or the interface cannot do it at all.
  parcel.sender->most_cut_[index_of(parcel.direction)] = error == EIO ? 0 : size(parcel.run.first) - 1;
  send_apart(at);
}

void UdpBatch::send_apart(int at) {
  const Parcel& parcel = parcels_[at];
  msghdr head = out_[at].msg_hdr;
  head.msg_controllen -= CMSG_SPACE(sizeof(uint16_t));
  if (head.msg_controllen == 0) head.msg_control = nullptr;
  head.msg_iovlen = 1;
  for (int slot = parcel.run.first; slot < parcel.run.end; slot++) {
    head.msg_iov = &parts_[slot];
    const int error = sys::send_one(out_socket_, head);
    const auto bytes = static_cast<int64_t>(size(slot));
    if (error == 0) parcel.sender->sent(parcel.direction, 1, bytes);
    else parcel.sender->unsent(parcel.direction, 1, bytes, -error);
  }
}

void UdpBatch::flush() {
  send();
  arm({0, used_});
  used_ = 0;
}

int64_t UdpBatch::bytes_in(Span run) const {
  size_t total = 0;
  for (int slot = run.first; slot < run.end; slot++) total += size(slot);
  return static_cast<int64_t>(total);
}

}  // namespace sluice
