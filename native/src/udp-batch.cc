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
/** With headers, it is below the limit of 65,535 bytes for a datagram. */
constexpr size_t kMaxSegmentedBytes = 65'000;

/** Writes a control message (cmsg(3)) and returns the space that it takes. */
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

bool is_segmentation_refused(int error) { return error == EIO || error == EINVAL || error == EMSGSIZE; }

}  // namespace

Address SourceAddress::address() const {
  sockaddr_storage storage{};
  std::memcpy(&storage, raw.data(), raw.size());
  return Address::from(storage);
}

Address ReplySource::address() const {
  if (family == AF_UNSPEC) return {};
  return Address::from_bytes(reinterpret_cast<const uint8_t*>(bytes.data()), family == AF_INET6 ? Family::v6 : Family::v4, 0);
}

size_t ReplySource::put_control(std::byte* at) const {
  if (family == AF_INET) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, bytes.data(), sizeof info.ipi_spec_dst);
    return sluice::put_control(at, IPPROTO_IP, IP_PKTINFO, info);
  }
  if (family != AF_INET6) return 0;
  in6_pktinfo info{};
  std::memcpy(&info.ipi6_addr, bytes.data(), sizeof info.ipi6_addr);
  info.ipi6_ifindex = zone;
  return sluice::put_control(at, IPPROTO_IPV6, IPV6_PKTINFO, info);
}

UdpBatch::UdpBatch() : memory_(std::make_unique_for_overwrite<std::byte[]>(kSlots * kSlotStride)) {
  prepare({0, kSlots});
}

void UdpBatch::prepare(SlotRange slots) {
  for (int slot = slots.first; slot < slots.end; slot++) {
    buffers_[slot] = {&memory_[slot * kSlotStride], kSlotBytes};
    msghdr& head = in_[slot].msg_hdr;
    head.msg_name = &addresses_[slot];
    head.msg_namelen = sizeof addresses_[slot];
    head.msg_iov = &buffers_[slot];
    head.msg_iovlen = 1;
    head.msg_control = controls_[slot].bytes.data();
    head.msg_controllen = controls_[slot].bytes.size();
    head.msg_flags = 0;
  }
}

int UdpBatch::receive(int socket, SlotRange& received) {
  if (kSlots - used_ < kFewSlots) flush();
  const int count = sys::receive_many(socket, &in_[used_], kSlots - used_);
  received = {used_, used_ + std::max(count, 0)};
  for (int slot = received.first; slot < received.end; slot++) buffers_[slot].iov_len = in_[slot].msg_len;
  used_ = received.end;
  return count;
}

SourceAddress UdpBatch::source(int slot) const {
  SourceAddress source;
  source.size = std::min<socklen_t>(in_[slot].msg_hdr.msg_namelen, sizeof addresses_[slot]);
  std::memcpy(source.raw.data(), &addresses_[slot], source.size);
  return source;
}

bool UdpBatch::is_to_many(int slot) const {
  msghdr head = in_[slot].msg_hdr;
  for (cmsghdr* one = CMSG_FIRSTHDR(&head); one != nullptr; one = CMSG_NXTHDR(&head, one)) {
    if (one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_PKTINFO) {
      const auto info = value_of<in_pktinfo>(*one);
      return info.ipi_addr.s_addr != info.ipi_spec_dst.s_addr;
    }
    if (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_PKTINFO) {
      const auto info = value_of<in6_pktinfo>(*one);
      return IN6_IS_ADDR_MULTICAST(&info.ipi6_addr);
    }
  }
  return false;
}

bool UdpBatch::is_same_path(int a, int b) const {
  const msghdr& one = in_[a].msg_hdr;
  const msghdr& other = in_[b].msg_hdr;
  return one.msg_namelen == other.msg_namelen && one.msg_controllen == other.msg_controllen &&
         std::memcmp(&addresses_[a], &addresses_[b], one.msg_namelen) == 0 &&
         std::memcmp(&controls_[a], &controls_[b], one.msg_controllen) == 0;
}

ReplySource UdpBatch::reply_source(int slot) const {
  ReplySource reply_source;
  msghdr head = in_[slot].msg_hdr;
  for (cmsghdr* one = CMSG_FIRSTHDR(&head); one != nullptr; one = CMSG_NXTHDR(&head, one)) {
    if (one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_PKTINFO) {
      // A usable local address even for a broadcast.
      const in_addr local = value_of<in_pktinfo>(*one).ipi_spec_dst;
      std::memcpy(reply_source.bytes.data(), &local, sizeof local);
      reply_source.family = AF_INET;
    }
    if (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_PKTINFO) {
      const auto info = value_of<in6_pktinfo>(*one);
      if (IN6_IS_ADDR_MULTICAST(&info.ipi6_addr)) continue;
      std::memcpy(reply_source.bytes.data(), &info.ipi6_addr, sizeof info.ipi6_addr);
      // Only a link-local address needs its interface; others may leave by any.
      reply_source.zone = IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr) ? info.ipi6_ifindex : 0;
      reply_source.family = AF_INET6;
    }
  }
  return reply_source;
}

void UdpBatch::queue(int socket, SlotRange run, UdpSender& sender, const SourceAddress* destination,
                     const ReplySource* reply_source) {
  if (socket != out_socket_) send();
  out_socket_ = socket;
  const size_t max_segment =
      sender.max_segment_[index_of(destination == nullptr ? Direction::in : Direction::out)];
  while (run.first < run.end) {
    const SlotRange part{run.first, segment_run_end(run, max_segment)};
    enqueue(part, sender, destination, reply_source);
    run.first = part.end;
  }
}

/** Returns the end of a run that UDP_SEGMENT can send: equal sizes, only the last may be shorter (udp(7)). */
int UdpBatch::segment_run_end(SlotRange run, size_t max_segment) const {
  const size_t first = size(run.first);
  int end = run.first + 1;
  if (first == 0 || first > max_segment) return end;
  size_t total = first;
  while (end < run.end && size(end) > 0 && size(end) <= first && total + size(end) <= kMaxSegmentedBytes) {
    total += size(end++);
    if (size(end - 1) < first) break;
  }
  return end;
}

void UdpBatch::enqueue(SlotRange run, UdpSender& sender, const SourceAddress* destination,
                       const ReplySource* reply_source) {
  QueuedMessage& message = messages_[queued_];
  message.sender = &sender;
  message.run = run;
  message.direction = destination == nullptr ? Direction::in : Direction::out;
  msghdr& head = out_[queued_].msg_hdr;
  head = {};
  head.msg_iov = &buffers_[run.first];
  head.msg_iovlen = run.size();
  if (destination != nullptr) {
    message.destination = *destination;
    head.msg_name = message.destination.raw.data();
    head.msg_namelen = message.destination.size;
  }
  size_t control = reply_source != nullptr ? reply_source->put_control(message.control.data()) : 0;
  if (run.size() > 1) {
    const auto segment_size = static_cast<uint16_t>(size(run.first));
    control += put_control(message.control.data() + control, IPPROTO_UDP, UDP_SEGMENT, segment_size);
  }
  head.msg_control = control > 0 ? message.control.data() : nullptr;
  head.msg_controllen = control;
  queued_++;
}

void UdpBatch::send() {
  for (int at = 0; at < queued_;) {
    const int count = sys::send_many(out_socket_, &out_[at], queued_ - at);
    if (count == -EINTR) continue;
    for (const int end = at + std::max(count, 0); at < end; at++) {
      const QueuedMessage& message = messages_[at];
      message.sender->on_sent(message.direction, message.run.size(), total_bytes(message.run), 0);
    }
    if (count <= 0) handle_refusal(at++, -count);
  }
  queued_ = 0;
}

void UdpBatch::handle_refusal(int at, int error) {
  const QueuedMessage& message = messages_[at];
  const int count = message.run.size();
  if (count == 1 || !is_segmentation_refused(error))
    return message.sender->on_sent(message.direction, count, total_bytes(message.run), error);
  // EIO: the interface cannot segment at all. Otherwise a segment exceeds the path's MTU.
  message.sender->max_segment_[index_of(message.direction)] = error == EIO ? 0 : size(message.run.first) - 1;
  send_individually(at);
}

void UdpBatch::send_individually(int at) {
  const QueuedMessage& message = messages_[at];
  msghdr head = out_[at].msg_hdr;
  head.msg_controllen -= CMSG_SPACE(sizeof(uint16_t));
  if (head.msg_controllen == 0) head.msg_control = nullptr;
  head.msg_iovlen = 1;
  for (int slot = message.run.first; slot < message.run.end; slot++) {
    head.msg_iov = &buffers_[slot];
    const int error = sys::send_one(out_socket_, head);
    message.sender->on_sent(message.direction, 1, static_cast<int64_t>(size(slot)), -error);
  }
}

void UdpBatch::flush() {
  send();
  prepare({0, used_});
  used_ = 0;
}

int64_t UdpBatch::total_bytes(SlotRange run) const {
  size_t total = 0;
  for (int slot = run.first; slot < run.end; slot++) total += size(slot);
  return static_cast<int64_t>(total);
}

}  // namespace sluice
