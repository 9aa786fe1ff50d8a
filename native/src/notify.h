// Sends datagrams to a supervisor such as systemd.
#pragma once

#include <string>

namespace sluice {

/**
 * Sends one datagram to a Unix socket: a path that begins with /, or @ and the name of an abstract socket. Never
 * blocks. Returns 0 or a negative errno: -EAGAIN if the receiver's queue is full.
 */
int notify(const std::string& address, const std::string& text);

}  // namespace sluice
