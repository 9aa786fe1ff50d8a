// The relays of the floor: TCP over IPv4 loopback on one thread, without rules, meters, limits, timers or counters. They drop a
// connection whose side does not take what was read: the loads of the bench never do that.
#pragma once

#include <netinet/in.h>

/** Both serve until they are killed. */
void relay_with_epoll(int listener, const sockaddr_in& target);
void relay_with_io_uring(int listener, const sockaddr_in& target);
