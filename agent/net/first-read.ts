import { type EngineFault, engineFault } from '../engine/engine.ts'
import type { FirstRead } from '../engine/first-read.ts'
import { parsePrefix } from './compile-filters.ts'

/** Throws EngineFault EINVAL for a first read that no engine knows, or without senders or reasons. */
export function checkFirstRead({ form, from, refusals }: FirstRead): void {
  if (form !== 'proxy_protocol') throw invalid(`firstRead.form is ${form}; 'proxy_protocol' is known`)
  if (from.length === 0) throw invalid('firstRead.from is empty: give the prefixes of the senders')
  for (const cidr of from) parsePrefix(cidr)
  for (const key of ['header', 'untrusted'] as const)
    if (!refusals[key]) throw invalid(`firstRead.refusals.${key} is empty: give a reason to count under`)
}

const invalid = (message: string): EngineFault => engineFault('EINVAL', message)
