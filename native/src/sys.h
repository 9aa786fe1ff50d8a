// The system calls of the engine. Failures are negative errno values; descriptors are owned by `Fd`.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
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
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

namespace sys {

enum class Protocol : uint8_t { tcp, udp };

/** `shared`: further sockets may bind the same address (SO_REUSEPORT). */
enum class Sharing : uint8_t { exclusive, shared };
/** Binds a socket, and listens if it is TCP. */
int listen_on(Protocol protocol, const Address& address, Sharing sharing, Fd& socket);
/** Accepts a non-blocking socket; TCP_NODELAY, SO_OOBINLINE and keepalive are inherited from the listener. */
int accept_from(int listener, Address& caller, Fd& socket);
/** The result of `bind_source` on a host that does not have the address; no system call here returns it. */
inline constexpr int kNoSuchSource = -ENODEV;
/** Binds a socket that will connect to a local address; its port is chosen when it connects. */
int bind_source(int socket, const Address& from);
/** Begins to connect; the descriptor becomes writable when it is connected. `from` null: the system chooses. */
int connect_to(const Address& target, const Address* from, Fd& socket);
/** Opens a pair of connected Unix sockets. */
int open_pair(Fd& one, Fd& other);
/** Returns the address that a socket is bound to. */
Address local_address(int socket);
/** The kernel's measurements of a TCP connection; -1: unknown. */
struct TcpFigures {
  int64_t rtt_us = -1;
  int64_t retransmits = -1;
};
TcpFigures tcp_figures(int socket);
/** Turns TCP keepalive on. */
void keep_alive(int socket);
/** Returns the pending error of a socket (SO_ERROR) as a positive errno; 0: none. */
int socket_error(int socket);
/** Makes the next close send RST (SO_LINGER of 0 s). */
void arm_reset(int socket);
int shut_write(int socket);
/** Returns the bytes that were written and that the peer has not acknowledged (SIOCOUTQ, tcp(7)): a reset drops them. */
int64_t unacknowledged(int socket);
/** Bytes that the peer has not acknowledged, and the retransmissions and window probes that it has not answered. */
struct Unanswered {
  int64_t bytes = 0;
  int16_t tries = 0;
};
Unanswered unanswered(int socket);

ssize_t receive(int socket, void* bytes, size_t size);
ssize_t peek(int socket, void* bytes, size_t size);
ssize_t transmit(int socket, const void* bytes, size_t size);

struct Pipe {
  Fd read;
  Fd write;
  int bytes = 0;  // its size
};
int open_pipe(Pipe& pipe);
/** Returns the size that the pipe has now, or a negative errno (F_SETPIPE_SZ). */
int resize_pipe(const Pipe& pipe, int bytes);
/** Returns fs.pipe-max-size, or 0 if it is unknown. */
int max_pipe_bytes();
ssize_t read_pipe(const Pipe& pipe, void* bytes, size_t size);
ssize_t splice_in(int socket, const Pipe& pipe, size_t size);
ssize_t splice_out(const Pipe& pipe, int socket, size_t size);

int open_epoll(Fd& epoll);
/** `data` comes back with each event. */
int watch(int epoll, int fd, uint32_t events, uint64_t data);
int unwatch(int epoll, int fd);
/** Waits for events, with a resolution of 1 us where the kernel has epoll_pwait2. */
int wait(int epoll, epoll_event* events, int count, int64_t timeout_us);
int open_wakeup(Fd& wakeup);
void signal_wakeup(int wakeup);
void clear_wakeup(int wakeup);

/** The monotonic clock. */
int64_t now_us();
int64_t unix_ms();

/** Fills at most 256 bytes by getrandom(2), since a container or a chroot may lack /dev/urandom. */
void fill_random(void* bytes, size_t size);

/** Returns a value of random bytes: an integer or an array of them. */
template <typename T>
T random_value() {
  T value{};
  fill_random(&value, sizeof value);
  return value;
}

/** Raises the soft limit of descriptors to the hard one and returns it. */
int64_t descriptor_limit();
int64_t descriptors_in_use();
std::vector<Address> local_addresses();
/** Opens a socket that becomes readable when an address comes or goes (rtnetlink(7)). */
int open_address_changes(Fd& socket);

}  // namespace sys
}  // namespace sluice
