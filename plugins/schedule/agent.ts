// The agent half: a rule is closed before its time, after it, and outside its hours, with or without the server.
import type { Static, TSchema } from 'typebox'
import {
  type AgentCall,
  type AgentPlugin,
  type Closing,
  defineField,
  type FieldRule
} from '../../agent/plugin.ts'
import { isOpenAt, nextChange } from './schedule.ts'
import { AtEnd, capability, ExpiresAt, keys, messages, NotBefore, reasons, WeeklyHours } from './wire.ts'

const day = 24 * 3_600_000

/** Each field closes the rule by itself; `at_end`, which all read, says what becomes of live connections. */
function closingOf({ spec }: FieldRule, { codec }: AgentCall, reason: string): Closing {
  const bytes = spec.fields[keys.atEnd]
  const mode = bytes ? codec.decode(AtEnd, bytes).mode : 'drain'
  if (mode === 'keep') return { mode: 'refuse', reason, closesPort: true }
  return { mode: 'cut', reason, closesPort: true, ...(mode === 'cut' && { drainMs: 0 }) }
}

/** A field whose rule is closed at some times; `isOpen` and `next`, the time of the next change, judge an instant. */
function timed<B extends TSchema>(
  field: Pick<Parameters<typeof defineField<B>>[0], 'key' | 'message'>,
  reason: string,
  judge: (value: Static<B>, now: number) => { readonly isOpen: boolean; readonly next: number | null }
) {
  function decide(rule: FieldRule<B>, call: AgentCall): void {
    const { isOpen, next } = judge(rule.value, call.time.now())
    if (isOpen) rule.open()
    else rule.close(closingOf(rule, call, reason))
    if (next !== null) rule.at(next, () => decide(rule, call))
  }
  return defineField({ ...field, opened: decide, changed: decide })
}

const notBefore = timed({ key: keys.notBefore, message: NotBefore }, reasons.outside, ({ at_ms: at }, now) =>
  now < at ? { isOpen: false, next: at } : { isOpen: true, next: null }
)

const expiresAt = timed({ key: keys.expiresAt, message: ExpiresAt }, reasons.expired, ({ at_ms: at }, now) =>
  now < at ? { isOpen: true, next: at } : { isOpen: false, next: null }
)

const schedule = timed({ key: keys.schedule, message: WeeklyHours }, reasons.outside, (hours, now) => ({
  isOpen: isOpenAt(hours, now),
  next: nextChange(hours, now) ?? now + day
}))

export default {
  name: 'schedule',
  agent: '^1.3.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  fields: [defineField({ key: keys.atEnd, message: AtEnd }), expiresAt, notBefore, schedule]
} satisfies AgentPlugin
