// The engine that an agent on this machine would run, and why.
import { type EngineSelection, selectEngine } from '../../agent/engine-selection.ts'
import type { DoctorCheck, Finding } from './exports.ts'

export const engine: DoctorCheck = { name: 'engine', run: async () => findingOf(selectEngine('auto')) }

export const findingOf = ({ engine, reason }: EngineSelection): Finding =>
  engine === 'native'
    ? { status: 'ok', message: `an agent here forwards with the native engine, ${reason}` }
    : {
        status: 'warn',
        message: `an agent here forwards with the portable engine: ${reason}`,
        remedy: 'on Linux install make and g++ (C++20), then run: npm rebuild sluice'
      }
