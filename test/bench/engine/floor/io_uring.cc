// Uses only direct descriptors, multishot receive, and provided buffers.
#include <sys/socket.h>

#include <array>
#include <memory>
#include <vector>

#include "floor.h"
#include "ring.h"

namespace {

constexpr unsigned kRelays = 4096;
constexpr unsigned kBuffers = 4096;
constexpr unsigned kBufferBytes = 4096;

enum class Op : uint8_t { accept, socket, connect, receive, send, shutdown, close };

/** Identifies a request at its completion. */
struct Tag {
  Op op;
  uint8_t side;
  uint16_t buffer;
  uint32_t relay;
  uint64_t packed() const {
    return uint64_t{static_cast<uint8_t>(op)} << 56 | uint64_t{side} << 48 | uint64_t{buffer} << 32 | relay;
  }
  static Tag of(uint64_t data) {
    return {Op{static_cast<uint8_t>(data >> 56)}, static_cast<uint8_t>(data >> 48), static_cast<uint16_t>(data >> 32),
            static_cast<uint32_t>(data)};
  }
};

struct Relay {
  std::array<int, 2> slots{-1, -1};  // direct descriptors of caller and target
  std::array<bool, 2> is_open{true, true};
  int in_flight = 0;
  bool is_ending = false;
};

class Buffers {
 public:
  explicit Buffers(const Ring& ring)
      : rows_(static_cast<io_uring_buf*>(mmap(nullptr, kBuffers * sizeof(io_uring_buf), PROT_READ | PROT_WRITE,
                                              MAP_ANONYMOUS | MAP_PRIVATE, -1, 0))),
        bytes_(std::make_unique<char[]>(size_t{kBuffers} * kBufferBytes)) {
    io_uring_buf_reg buffers{};
    buffers.ring_addr = reinterpret_cast<uint64_t>(rows_);
    buffers.ring_entries = kBuffers;
    ring.enlist(IORING_REGISTER_PBUF_RING, &buffers, 1);
    for (uint16_t id = 0; id < kBuffers; id++) give(id);
  }
  const char* at(uint16_t id) const { return &bytes_[size_t{id} * kBufferBytes]; }
  void give(uint16_t id) {
    io_uring_buf& row = rows_[tail_++ & (kBuffers - 1)];
    row.addr = reinterpret_cast<uint64_t>(at(id));
    row.len = kBufferBytes;
    row.bid = id;
    std::atomic_ref(reinterpret_cast<io_uring_buf_ring*>(rows_)->tail).store(tail_, std::memory_order_release);
  }

 private:
  io_uring_buf* const rows_;
  const std::unique_ptr<char[]> bytes_;
  uint16_t tail_ = 0;
};

class UringRelay {
 public:
  UringRelay(int listener, const sockaddr_in& target) : listener_(listener), target_(target) {
    io_uring_rsrc_register files{};
    files.nr = 2 * kRelays;
    files.flags = IORING_RSRC_REGISTER_SPARSE;
    ring_.enlist(IORING_REGISTER_FILES2, &files, sizeof files);
    for (uint32_t at = kRelays; at-- > 0;) free_.push_back(at);
  }

  void run() {
    accept();
    for (;;) {
      ring_.submit_and_wait();
      ring_.each([this](const io_uring_cqe& done) { ended(done); });
    }
  }

 private:
  void accept() {
    io_uring_sqe& request = ring_.next(IORING_OP_ACCEPT, listener_, Tag{Op::accept, 0, 0, 0}.packed());
    request.ioprio = IORING_ACCEPT_MULTISHOT;
    request.file_index = IORING_FILE_INDEX_ALLOC;
  }

  /** Queues a request for a side's socket. */
  io_uring_sqe& queue(uint8_t opcode, Tag tag) {
    relays_[tag.relay].in_flight++;
    io_uring_sqe& request = ring_.next(opcode, relays_[tag.relay].slots[tag.side], tag.packed());
    request.flags = IOSQE_FIXED_FILE;
    return request;
  }

  void receive(uint32_t at, uint8_t side) {
    io_uring_sqe& request = queue(IORING_OP_RECV, {Op::receive, side, 0, at});
    request.ioprio = IORING_RECV_MULTISHOT;
    request.flags |= IOSQE_BUFFER_SELECT;
  }

  void end(uint32_t at) {
    Relay& relay = relays_[at];
    if (relay.is_ending) return;
    relay.is_ending = true;
    for (uint8_t side = 0; side < 2; side++) {
      if (relay.slots[side] < 0) continue;
      relay.in_flight++;
      io_uring_sqe& request = ring_.next(IORING_OP_CLOSE, 0, Tag{Op::close, side, 0, at}.packed());
      request.file_index = static_cast<unsigned>(relay.slots[side]) + 1;
    }
  }

  void ended(const io_uring_cqe& done) {
    const Tag tag = Tag::of(done.user_data);
    const bool is_last = !(done.flags & IORING_CQE_F_MORE);
    if (tag.op == Op::accept) {
      if (done.res >= 0) begin(done.res);
      if (is_last) accept();
      return;
    }
    Relay& relay = relays_[tag.relay];
    if (is_last) relay.in_flight--;
    switch (tag.op) {
      case Op::socket: connect(tag.relay, done.res); break;
      case Op::connect: connected(tag.relay, done.res); break;
      case Op::receive: received(tag, done, is_last); break;
      case Op::send:
        buffers_.give(tag.buffer);
        if (done.res < 0) end(tag.relay);
        break;
      default: break;
    }
    if (relay.is_ending && relay.in_flight == 0) free_.push_back(tag.relay);
  }

  void begin(int caller) {
    if (free_.empty()) Ring::fail("no relay is free");
    const uint32_t at = free_.back();
    free_.pop_back();
    relays_[at] = {};
    relays_[at].slots[0] = caller;
    relays_[at].in_flight++;
    io_uring_sqe& request = ring_.next(IORING_OP_SOCKET, AF_INET, Tag{Op::socket, 1, 0, at}.packed());
    request.off = SOCK_STREAM;
    request.file_index = IORING_FILE_INDEX_ALLOC;
  }

  void connect(uint32_t at, int slot) {
    if (slot < 0) return end(at);
    relays_[at].slots[1] = slot;
    io_uring_sqe& request = queue(IORING_OP_CONNECT, {Op::connect, 1, 0, at});
    request.addr = reinterpret_cast<uint64_t>(&target_);
    request.off = sizeof target_;
  }

  void connected(uint32_t at, int result) {
    if (result < 0) return end(at);
    receive(at, 0);
    receive(at, 1);
  }

  void received(Tag tag, const io_uring_cqe& done, bool is_last) {
    Relay& relay = relays_[tag.relay];
    const auto buffer = static_cast<uint16_t>(done.flags >> IORING_CQE_BUFFER_SHIFT);
    const auto other = static_cast<uint8_t>(1 - tag.side);
    if (relay.is_ending || done.res <= 0) {
      if (done.flags & IORING_CQE_F_BUFFER) buffers_.give(buffer);
      if (relay.is_ending) return;
      if (done.res == -ENOBUFS) return receive(tag.relay, tag.side);
      if (done.res < 0) return end(tag.relay);
      relay.is_open[tag.side] = false;
      if (!relay.is_open[other]) return end(tag.relay);
      queue(IORING_OP_SHUTDOWN, {Op::shutdown, other, 0, tag.relay}).len = SHUT_WR;
      return;
    }
    io_uring_sqe& request = queue(IORING_OP_SEND, {Op::send, other, buffer, tag.relay});
    request.addr = reinterpret_cast<uint64_t>(buffers_.at(buffer));
    request.len = static_cast<unsigned>(done.res);
    request.msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
    if (is_last) receive(tag.relay, tag.side);
  }

  const int listener_;
  const sockaddr_in target_;
  Ring ring_{4096};
  Buffers buffers_{ring_};
  std::vector<Relay> relays_{kRelays};
  std::vector<uint32_t> free_;
};

}  // namespace

void relay_with_io_uring(int listener, const sockaddr_in& target) {
  std::make_unique<UringRelay>(listener, target)->run();
}
