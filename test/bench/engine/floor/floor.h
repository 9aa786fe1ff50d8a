// Bare relays: TCP over IPv4 loopback on one thread, without rules, meters, limits, timers or counters. They drop a
// connection if a side does not accept forwarded bytes at once, which never happens under the loads of the bench.
#pragma once

#include <netinet/in.h>

/** Both relays serve until they are killed. */
void relay_with_epoll(int listener, const sockaddr_in& target);
void relay_with_io_uring(int listener, const sockaddr_in& target);
