#pragma once

#include <string>

namespace sluice {

/** Returns the name of an errno ("EINVAL"), of those that pipes, splice and UDP sockets give; else "errno 42". */
std::string error_name(int error);

}  // namespace sluice
