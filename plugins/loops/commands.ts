import { checkSlot } from '../cli/check-exports.ts'
import { loopCheck } from './doctor-check.ts'

export const fills = [checkSlot.fill(loopCheck)]
