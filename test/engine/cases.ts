// What every engine must do: one list of cases, played against each engine through the same contract.
import { budget } from './cases/budget.ts'
import { bytes } from './cases/bytes.ts'
import { dial } from './cases/dial.ts'
import { filters } from './cases/filters.ts'
import { health } from './cases/health.ts'
import { life } from './cases/life.ts'
import { meters } from './cases/meters.ts'
import { names } from './cases/names.ts'
import { udpFlows } from './cases/udp-flows.ts'
import { udpLife } from './cases/udp-life.ts'
import { udpLimits } from './cases/udp-limits.ts'
import { udpMeters } from './cases/udp-meters.ts'
import { udpTargets } from './cases/udp-targets.ts'

export const cases = { ...bytes, ...dial, ...life, ...filters, ...meters, ...budget, ...names, ...health }
export const udpCases = { ...udpFlows, ...udpLife, ...udpLimits, ...udpMeters, ...udpTargets }
