import { checkSlot } from '../doctor/exports.ts'
import { loopCheck } from './doctor-check.ts'

export const fills = [checkSlot.fill(loopCheck)]
