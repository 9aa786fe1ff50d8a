#pragma once

#include <string>

namespace sluice {

/** Returns the name of an errno of pipes, splice, UDP and Unix sockets ("EINVAL"); "errno 42" for others. */
std::string error_name(int error);

}  // namespace sluice
