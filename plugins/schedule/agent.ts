// The agent half closes rules before and after their times and outside their hours, even without the server.
import type { TSchema } from 'typebox'
import {
  type AgentCall,
  type AgentPlugin,
  type Closing,
  defineField,
  type FieldRule,
  type RuleSpec
} from '../../agent/plugin.ts'
import { atEnd, expiresAt, type Hours, notBefore, reasons, schedule } from './fields.ts'
import { isOpenAt, nextChange } from './weekly-hours.ts'

const dayMs = 24 * 3_600_000

const atEndField = defineField(atEnd)

/** Each time field can close the rule. `at_end` applies to all of them and decides about live connections. */
function closing({ spec }: { readonly spec: RuleSpec }, { codec }: AgentCall, reason: string): Closing {
  const bytes = spec.fields[atEnd.key]
  const mode = bytes ? codec.decode(atEndField.message, bytes).value : 'drain'
  if (mode === 'keep') return { mode: 'refuse', reason, closesPort: true }
  return { mode: 'cut', reason, closesPort: true, ...(mode === 'cut' && { drainMs: 0 }) }
}

interface Judgement {
  readonly isOpen: boolean
  readonly next: number | null // time of the next change
}

/** Returns the hooks of a field that closes its rule at times. `judge` decides for one instant. */
function timed<V>(reason: string, judge: (value: V, now: number) => Judgement) {
  type Rule = Pick<FieldRule<TSchema>, 'spec' | 'open' | 'close' | 'at'> & { readonly value: V }
  function decide(rule: Rule, call: AgentCall): void {
    const { isOpen, next } = judge(rule.value, call.time.now())
    if (isOpen) rule.open()
    else rule.close(closing(rule, call, reason))
    if (next !== null) rule.at(next, () => decide(rule, call))
  }
  return { opened: decide, changed: decide }
}

interface Instant {
  readonly at_ms: number
}

export default {
  name: 'schedule',
  agent: '^1.5.0',
  fields: [
    atEndField,
    defineField({
      ...expiresAt,
      ...timed(reasons.expired, ({ at_ms: at }: Instant, now) => ({
        isOpen: now < at,
        next: now < at ? at : null
      }))
    }),
    defineField({
      ...notBefore,
      ...timed(reasons.outside, ({ at_ms: at }: Instant, now) => ({
        isOpen: now >= at,
        next: now < at ? at : null
      }))
    }),
    defineField({
      ...schedule,
      ...timed(reasons.outside, (hours: Hours, now) => ({
        isOpen: isOpenAt(hours, now),
        next: nextChange(hours, now) ?? now + dayMs
      }))
    })
  ]
} satisfies AgentPlugin
