// What every engine must do: one list of cases, played against each engine through the same contract.
import { bytes } from './cases/bytes.ts'
import { dial } from './cases/dial.ts'
import { filters } from './cases/filters.ts'
import { life } from './cases/life.ts'

export const cases = { ...bytes, ...dial, ...life, ...filters }
