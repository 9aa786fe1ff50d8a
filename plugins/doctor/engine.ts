// Which data plane an agent on this machine would run, and why not the other.
import { type EngineSelection, selectEngine } from '../../agent/engine-selection.ts'
import type { DoctorCheck, Finding } from './exports.ts'

export const engine: DoctorCheck = { name: 'engine', run: async () => findingOf(selectEngine('auto')) }

export const findingOf = ({ engine, reason }: EngineSelection): Finding =>
  engine === 'native'
    ? { is: 'ok', says: `an agent here forwards with the native engine, ${reason}` }
    : {
        is: 'warn',
        says: `an agent here forwards with the portable engine: ${reason}`,
        remedy: 'on Linux install make and g++ (C++20), then run: npm rebuild sluice'
      }
