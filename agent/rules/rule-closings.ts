// Which rules are closed, by which fields, and how: beneath it is the meter that only this rule passes.
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

export type Closings = ReturnType<typeof openClosings>

const modes = ['refuse', 'hold', 'cut'] as const

/** Of several closings the strictest is in force; of equally strict ones the first. */
const strictestOf = (closings: Iterable<Closing>): Closing | null =>
  [...closings].reduce<Closing | null>(
    (strictest, closing) =>
      strictest && modes.indexOf(strictest.mode) >= modes.indexOf(closing.mode) ? strictest : closing,
    null
  )

export function openClosings({ meters, clock, drainMs }: Options) {
  let changed: (meter: string) => void = () => {}
  let hasCut: (meter: string) => void = () => {}
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
      hasCut(meter)
    }
    if (mode === 'cut' && (leftMs <= 0 || rule.isCut)) return void cut()
    meters.setClosed(meter, { reason, live: mode === 'hold' ? 'pause' : 'go on' })
    if (mode === 'cut') rule.cancelDrain = clock.after(leftMs, cut)
  }

  return {
    /** Sets how a field closes the rule with this meter; null: it does not. An equal closing goes on. */
    set(meter: string, field: string, closing: Closing | null): void {
      if (closing && !/^[a-z][a-z0-9_]{0,31}$/.test(closing.reason))
        throw new TypeError(`${closing.reason} is no reason: use at most 32 of a-z, 0-9 and _`)
      const rule = rules.get(meter) ?? { by: new Map(), inForce: null, isCut: false, cancelDrain() {} }
      if (isDeepStrictEqual(closing ?? undefined, rule.by.get(field))) return
      if (closing) rule.by.set(field, closing)
      else rule.by.delete(field)
      rules.set(meter, rule)
      enforce(meter, rule)
      if (rule.by.size === 0) rules.delete(meter)
      changed(meter)
    },
    /** Sets what is called with the meter after each change of a closing. */
    onChange(listener: typeof changed): void {
      changed = listener
    },
    /** Sets what is called with the meter when its connections have been reset. */
    onCut(listener: typeof hasCut): void {
      hasCut = listener
    },
    /** True while a closing asks for a closed port. */
    isPortClosed: (meter: string): boolean =>
      [...(rules.get(meter)?.by.values() ?? [])].some(({ closesPort }) => closesPort),
    /** The reason of each closed meter. */
    reasons: (): ReadonlyMap<string, string> =>
      new Map([...rules].flatMap(([meter, { inForce }]) => (inForce ? [[meter, inForce.reason]] : []))),
    /** Called when no connection passes the meter any more. */
    forget(meter: string): void {
      const rule = rules.get(meter)
      rules.delete(meter)
      void rule?.cancelDrain()
      if (rule) meters.setClosed(meter, null)
    }
  }
}
