// Every system call of the engine. What fails gives a negative errno; descriptors are owned by `Fd`.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "address.h"

namespace sluice {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

namespace sys {

enum class Protocol : uint8_t { tcp, udp };

/** A bound socket that listens, if it is TCP. `share`: further sockets may bind the same place. */
enum class Sharing : uint8_t { exclusive, shared };
int listen_on(Protocol protocol, const Address& place, Sharing sharing, Fd& socket);
/** Non-blocking, without delay, kept alive. */
int accept_from(int listener, Address& caller, Fd& socket);
/** Begins; the descriptor turns writable when it is connected. */
int connect_to(const Address& target, Fd& socket);
/** Asks a silent peer whether it is still there. */
void keep_alive(int socket);
/** What a failed connection died of; 0: it lives. */
int error_of(int socket);
/** The next close sends RST. */
void arm_reset(int socket);
int shut_write(int socket);

ssize_t receive(int socket, void* bytes, size_t size);
ssize_t peek(int socket, void* bytes, size_t size);
ssize_t transmit(int socket, const void* bytes, size_t size);

struct Pipe {
  Fd read;
  Fd write;
};
int open_pipe(Pipe& pipe);
/** What the pipe holds now, or why it was refused. */
int resize_pipe(const Pipe& pipe, int bytes);
int pipe_size(const Pipe& pipe);
ssize_t splice_in(int socket, const Pipe& pipe, size_t size);
ssize_t splice_out(const Pipe& pipe, int socket, size_t size);

int open_epoll(Fd& epoll);
int watch(int epoll, int fd, uint32_t events, void* data);
int unwatch(int epoll, int fd);
int wait(int epoll, epoll_event* events, int count, int64_t timeout_us);
int open_bell(Fd& bell);
void ring(int bell);
void silence(int bell);

/** Monotonic. */
int64_t now_us();
int64_t unix_ms();

/** Raises the soft limit to the hard one; gives it. */
int64_t descriptor_limit();
int64_t descriptors_in_use();
std::vector<Address> local_addresses();

}  // namespace sys
}  // namespace sluice
