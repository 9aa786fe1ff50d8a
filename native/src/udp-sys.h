// The system calls for datagrams. Failures are negative errno values.
#pragma once

#include <sys/socket.h>

#include "sys.h"

namespace sluice::sys {

/** Lets routers and this host fragment what the socket sends: a caller cannot learn the MTU of the path behind. */
void allow_fragments(int socket, Family family);
/** Opens a connected socket: it receives only datagrams of `target`, and ICMP errors about `target`. */
int connect_datagram(const Address& target, const Address* from, Fd& socket);
/** Returns how many datagrams were received. Does not block. */
int receive_many(int socket, mmsghdr* messages, int count);
/** Returns how many were sent; an error belongs to the first unsent datagram. */
int send_many(int socket, mmsghdr* messages, int count);
int send_one(int socket, const msghdr& message);

}  // namespace sluice::sys
