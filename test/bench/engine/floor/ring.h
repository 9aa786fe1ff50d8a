// An io_uring without liburing (io_uring(7)). Requests are queued, and submitted together with the wait for completions.
#pragma once

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

class Ring {
 public:
  explicit Ring(unsigned entries) {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    params.cq_entries = entries * 4;
    fd_ = static_cast<int>(syscall(SYS_io_uring_setup, entries, &params));
    if (fd_ < 0) fail("io_uring_setup");
    const size_t size = std::max(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                                 params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    char* ring = map(size, IORING_OFF_SQ_RING);
    sqes_ = reinterpret_cast<io_uring_sqe*>(map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    sq_tail_ = reinterpret_cast<std::atomic<unsigned>*>(ring + params.sq_off.tail);
    sq_mask_ = params.sq_entries - 1;
    auto* array = reinterpret_cast<unsigned*>(ring + params.sq_off.array);
    for (unsigned i = 0; i < params.sq_entries; i++) array[i] = i;
    cq_head_ = reinterpret_cast<std::atomic<unsigned>*>(ring + params.cq_off.head);
    cq_tail_ = reinterpret_cast<std::atomic<unsigned>*>(ring + params.cq_off.tail);
    cq_mask_ = params.cq_entries - 1;
    cqes_ = reinterpret_cast<io_uring_cqe*>(ring + params.cq_off.cqes);
  }
  [[noreturn]] static void fail(const char* what) {
    std::perror(what);
    std::exit(1);
  }
  /** Registers descriptors or buffers. */
  void enlist(unsigned what, const void* of, unsigned count) const {
    if (syscall(SYS_io_uring_register, fd_, what, of, count) < 0) fail("io_uring_register");
  }
  /** Queues a request. The caller fills in its other fields. */
  io_uring_sqe& next(uint8_t opcode, int fd, uint64_t data) {
    if (queued_ > sq_mask_ - 8) submit(0);
    io_uring_sqe& sqe = sqes_[tail_++ & sq_mask_];
    std::memset(&sqe, 0, sizeof sqe);
    sqe.opcode = opcode;
    sqe.fd = fd;
    sqe.user_data = data;
    queued_++;
    return sqe;
  }
  void submit_and_wait() { submit(1); }
  /** Calls `f` with each completed request. */
  template <typename F>
  void each(F&& f) {
    unsigned head = cq_head_->load(std::memory_order_relaxed);
    for (; head != cq_tail_->load(std::memory_order_acquire); head++) {
      const io_uring_cqe cqe = cqes_[head & cq_mask_];
      cq_head_->store(head + 1, std::memory_order_release);
      f(cqe);
    }
  }

 private:
  void submit(unsigned wait_for) {
    sq_tail_->store(tail_, std::memory_order_release);
    if (syscall(SYS_io_uring_enter, fd_, queued_, wait_for, IORING_ENTER_GETEVENTS, nullptr, 0) < 0 && errno != EINTR)
      fail("io_uring_enter");
    queued_ = 0;
  }
  char* map(size_t size, off_t what) {
    return static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, what));
  }
  int fd_;
  io_uring_sqe* sqes_;
  io_uring_cqe* cqes_;
  std::atomic<unsigned>*sq_tail_, *cq_head_, *cq_tail_;
  unsigned sq_mask_, cq_mask_, tail_ = 0, queued_ = 0;
};
