// Releases memory that an idle process does not use.
#pragma once

namespace sluice {

/**
 * Returns free memory of malloc and pages of program files (code and constants) to the system. The pages stay in
 * the page cache, so the next use causes only a minor fault.
 */
void give_back_memory();

}  // namespace sluice
