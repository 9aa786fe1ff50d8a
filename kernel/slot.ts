import { type Attribution, attributed } from './base/attribution.ts'
import { type ErrorCode, Fault, pluginFailed, reasonOf, startupInvalid } from './base/errors.ts'
import type { Message } from './wire/message.ts'

/** A typed extension point. One plugin owns it, others fill it. The kernel does not interpret the values. */
export interface Slot<T> {
  readonly id: string // '<owner>.<name>'
  /** Without its owner, filling the slot stops the boot ('required') or has no effect ('inert'). */
  readonly ifOwnerMissing: 'required' | 'inert'
  /** Two plugins must not fill the slot with the same key. */
  keyOf?(value: T): string
  fill(value: T): Fill
  /** For a value that needs services. It is created once, from the container of the filling plugin. */
  fillWith<D>(make: (deps: D) => T): Fill<D>
}

export interface Fill<D = object> {
  readonly slot: Slot<never>
  readonly messages?: readonly Message[] // of its value
  make(deps: () => D): unknown
}

export interface Filled<T> {
  readonly by: string // plugin
  readonly codes?: readonly ErrorCode[] // of the plugin
  readonly value: T
}

/** Returns the values of a slot in dependency order. Values of `fillWith` are available from `start` on. */
export type SlotReader = <T>(slot: Slot<T>) => readonly Filled<T>[]

export function defineSlot<T>(
  id: string,
  options: Partial<Pick<Slot<T>, 'ifOwnerMissing' | 'keyOf'>> = {}
): Slot<T> {
  const slot: Slot<T> = {
    id,
    ifOwnerMissing: 'required',
    ...options,
    fill: value => ({ slot, make: () => value }),
    fillWith: make => ({ slot, make: deps => make(deps()) })
  }
  return slot
}

export const ownerOf = (slot: Slot<never>): string => slot.id.slice(0, slot.id.indexOf('.'))

/** Reads the slots of `owner`. Values are created at the first read, once the plugins are wired. */
export function slotReader(
  owner: string,
  plugins: readonly {
    readonly name: string
    readonly fills?: readonly Fill[]
    readonly codes?: readonly ErrorCode[]
  }[],
  depsOf: (plugin: string) => object
): SlotReader {
  const made = new Map<Fill, unknown>()
  const read = new Map<Slot<never>, readonly Filled<unknown>[]>()
  return <T>(slot: Slot<T>) => {
    if (read.has(slot)) return read.get(slot) as readonly Filled<T>[]
    if (ownerOf(slot) !== owner) throw new TypeError(`${owner} reads ${slot.id}, which it does not own`)
    const filled = plugins.flatMap(({ name, fills = [], codes = [] }) =>
      fills
        .filter(fill => fill.slot === slot)
        .map(fill => {
          if (!made.has(fill)) made.set(fill, make(fill, name, depsOf))
          return { by: name, codes, value: made.get(fill) as T } // only this slot creates its Fills
        })
    )
    refuseDuplicates(slot, filled)
    read.set(slot, filled)
    return filled
  }
}

/** Names the filling plugin in errors: without it, the slot's owner would seem to have failed. */
function make({ slot, make }: Fill, by: string, depsOf: (plugin: string) => object): unknown {
  try {
    return withAttribution(
      make(() => depsOf(by)),
      { slot: slot.id, filled_by: by }
    )
  } catch (cause) {
    throw new Fault(pluginFailed, `plugin ${by} cannot fill ${slot.id}: ${reasonOf(cause)}`, { cause })
  }
}

type AnyFunction = (...args: unknown[]) => unknown

/** Attributes errors and timeouts of its functions, and of functions that they return, to the plugin. */
function withAttribution(value: unknown, by: Attribution): unknown {
  if (!(value instanceof Object)) return value
  const wrapResult = (result: unknown): unknown => {
    if (result instanceof Promise) return result.then(wrapResult)
    return typeof result === 'function' ? withAttribution(result, by) : result
  }
  const apply = (target: AnyFunction, self: unknown, args: unknown[]): unknown =>
    attributed(by, () => wrapResult(Reflect.apply(target, self, args)))
  return new Proxy(value, {
    apply: (target, self, args) => apply(target as AnyFunction, self, args),
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function' || Object.isFrozen(target)) return member // a proxy cannot replace a frozen member
      return (...args: unknown[]) => apply(member as AnyFunction, target, args)
    }
  })
}

function refuseDuplicates<T>({ id, keyOf }: Slot<T>, filled: readonly Filled<T>[]): void {
  const keys = keyOf ? filled.map(({ by, value }) => ({ by, key: keyOf(value) })) : []
  for (const { by, key } of keys) {
    const other = keys.find(other => other.key === key && other.by !== by)
    if (other) throw new Fault(startupInvalid, `${id} ${key} is claimed by ${by} and ${other.by}`)
  }
}
