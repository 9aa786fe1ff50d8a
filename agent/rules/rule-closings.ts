// The closed rules, with the closing of each field. A rule is closed by the meter that only it passes.
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Closing } from './contract.ts'
import type { Meters } from './meters.ts'

interface ClosedRule {
  readonly by: Map<string, Closing> // field key to its closing
  inForce: Closing | null
  isCut: boolean // the drain has ended
  cancelDrain: Release
}

interface Options {
  readonly meters: Pick<Meters, 'setClosed'>
  readonly clock: Pick<Clock, 'after'>
  readonly drainMs: () => number
}

/** Identifies each rule by the key of the meter that only this rule uses. */
export interface RuleClosings {
  /** Sets how a field closes the rule; null: not. A closing that equals the current one changes nothing. */
  set(meter: string, field: string, closing: Closing | null): void
  /** Sets the listener for changes of closings. */
  onChange(listener: (meter: string) => void): void
  /** Sets the listener for resets of the connections of a rule. */
  onCut(listener: (meter: string) => void): void
  /** Returns true while a closing asks for a closed port. */
  isPortClosed(meter: string): boolean
  /** Returns the reasons of the closed rules. */
  reasons(): ReadonlyMap<string, string>
  /** Called when no connection passes the meter. */
  forget(meter: string): void
}

const modes = ['refuse', 'hold', 'cut'] as const

/** Returns the strictest closing; of equally strict ones the first. */
const strictestOf = (closings: Iterable<Closing>): Closing | null =>
  [...closings].reduce<Closing | null>(
    (strictest, closing) =>
      strictest && modes.indexOf(strictest.mode) >= modes.indexOf(closing.mode) ? strictest : closing,
    null
  )

export function openRuleClosings({ meters, clock, drainMs }: Options): RuleClosings {
  let notifyChange: (meter: string) => void = () => {}
  let notifyCut: (meter: string) => void = () => {}
  const rules = new Map<string, ClosedRule>() // by the key of the rule's meter

  function enforce(meter: string, rule: ClosedRule): void {
    const closing = strictestOf(rule.by.values())
    if (closing === rule.inForce) return
    void rule.cancelDrain()
    rule.inForce = closing
    rule.isCut &&= closing?.mode === 'cut'
    if (!closing) return void meters.setClosed(meter, null)
    const { mode, reason, drainMs: leftMs = drainMs() } = closing
    const cut = (): void => {
      rule.isCut = true
      meters.setClosed(meter, { reason, live: 'reset' })
      notifyCut(meter)
    }
    if (mode === 'cut' && (leftMs <= 0 || rule.isCut)) return void cut()
    meters.setClosed(meter, { reason, live: mode === 'hold' ? 'pause' : 'continue' })
    if (mode === 'cut') rule.cancelDrain = clock.after(leftMs, cut)
  }

  return {
    set(meter, field, closing) {
      if (closing && !/^[a-z][a-z0-9_]{0,31}$/.test(closing.reason))
        throw new TypeError(`a reason has at most 32 characters a-z, 0-9 and _, got ${closing.reason}`)
      const rule = rules.get(meter) ?? { by: new Map(), inForce: null, isCut: false, cancelDrain() {} }
      if (isDeepStrictEqual(closing ?? undefined, rule.by.get(field))) return
      if (closing) rule.by.set(field, closing)
      else rule.by.delete(field)
      rules.set(meter, rule)
      enforce(meter, rule)
      if (rule.by.size === 0) rules.delete(meter)
      notifyChange(meter)
    },
    onChange(listener) {
      notifyChange = listener
    },
    onCut(listener) {
      notifyCut = listener
    },
    isPortClosed: meter => [...(rules.get(meter)?.by.values() ?? [])].some(({ closesPort }) => closesPort),
    reasons: () =>
      new Map([...rules].flatMap(([meter, { inForce }]) => (inForce ? [[meter, inForce.reason]] : []))),
    forget(meter) {
      const rule = rules.get(meter)
      rules.delete(meter)
      void rule?.cancelDrain()
      if (rule) meters.setClosed(meter, null)
    }
  }
}
