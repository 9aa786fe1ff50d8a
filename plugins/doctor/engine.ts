// Which data plane an agent on this machine would run, and why not the other.
import { type Choice, chooseEngine } from '../../agent/engine-choice.ts'
import type { DoctorCheck, Finding } from './exports.ts'

export const engine: DoctorCheck = { name: 'engine', run: async () => findingOf(chooseEngine('auto')) }

export const findingOf = ({ engine, reason }: Choice): Finding =>
  engine === 'native'
    ? { is: 'ok', says: `an agent here forwards with the native engine, ${reason}` }
    : {
        is: 'warn',
        says: `an agent here forwards with the portable engine: ${reason}`,
        remedy: 'on Linux install make and g++ (C++20), then run: npm rebuild sluice'
      }
