// Memory that a process holds and does not use while it is idle.
#pragma once

namespace sluice {

/**
 * Gives the system what malloc has free, and the pages of program files: code and constants, which nobody has written to.
 * They stay in the page cache, where the next use finds them by a minor fault.
 */
void give_back_memory();

}  // namespace sluice
