// The system calls of datagrams: many at a time. What fails gives a negative errno.
#pragma once

#include <sys/socket.h>

#include "sys.h"

namespace sluice::sys {

/** Connected at once: hears only `target`, and what ICMP says of it. */
int connect_datagram(const Address& target, Fd& socket);
/** How many came; never waits. */
int receive_many(int socket, mmsghdr* messages, int count);
/** How many were taken; what fails is the first of the rest. */
int send_many(int socket, mmsghdr* messages, int count);
int send_one(int socket, const msghdr& message);

}  // namespace sluice::sys
