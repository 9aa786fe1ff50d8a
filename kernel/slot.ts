import { type Attribution, attributed } from './base/attribution.ts'
import { Fault, pluginFailed, reasonOf, startupInvalid } from './base/errors.ts'
import type { Plugin } from './plugin.ts'

/** A slot is a typed place, owned by one plugin, that others may fill. The kernel only carries values. */
export interface Slot<T> {
  readonly id: string // '<owner>.<place>'
  /** 'required': filling it without the owner loaded stops the boot. 'inert': the value is dropped. */
  readonly ifOwnerMissing: 'required' | 'inert'
  /** Two plugins may not fill it under one key. */
  keyOf?(value: T): string
  fill(value: T): Fill
  /** For a value that needs services: made once, from the filling plugin's own container. */
  fillWith<D>(make: (deps: D) => T): Fill<D>
}

export interface Fill<D = object> {
  readonly slot: Slot<never>
  make(deps: () => D): unknown
}

export interface Filled<T> {
  readonly by: string
  readonly value: T
}

/** Reads the caller's own slots, in dependency order. What `fillWith` makes is there from `start` on. */
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

/** What `owner` may read. Values are made on first sight, when their plugins are wired. */
export function slotReader(
  owner: string,
  plugins: readonly Pick<Plugin, 'name' | 'fills'>[],
  depsOf: (plugin: string) => object
): SlotReader {
  const made = new Map<Fill, unknown>()
  return <T>(slot: Slot<T>) => {
    if (ownerOf(slot) !== owner) throw new TypeError(`${owner} reads ${slot.id}, which is not its own`)
    const filled = plugins.flatMap(({ name, fills }) =>
      (fills ?? [])
        .filter(fill => fill.slot === slot)
        .map(fill => {
          if (!made.has(fill)) made.set(fill, make(fill, name, depsOf))
          return { by: name, value: made.get(fill) as T } // only this slot makes Fills of this slot
        })
    )
    refuseTwins(slot, filled)
    return filled
  }
}

/** The error names whose value it is: else the slot's owner, who reads it, were blamed. */
function make({ slot, make }: Fill, by: string, depsOf: (plugin: string) => object): unknown {
  try {
    const value = make(() => depsOf(by))
    return signed(value, { slot: slot.id, filled_by: by })
  } catch (cause) {
    throw new Fault(pluginFailed, `plugin ${by} cannot fill ${slot.id}: ${reasonOf(cause)}`, { cause })
  }
}

type Work = (...args: unknown[]) => unknown

/** The value as it is, but who runs one of its functions is known. */
function signed(value: unknown, by: Attribution): unknown {
  if (!(value instanceof Object)) return value
  const given = (made: unknown): unknown => {
    if (made instanceof Promise) return made.then(given)
    return typeof made === 'function' ? signed(made, by) : made
  }
  const apply = (work: Work, self: unknown, args: unknown[]): unknown =>
    attributed(by, () => given(Reflect.apply(work, self, args)))
  return new Proxy(value, {
    apply: (target, self, args) => apply(target as Work, self, args),
    get(target, key) {
      const part: unknown = Reflect.get(target, key)
      if (typeof part !== 'function' || Object.isFrozen(target)) return part // what is frozen must show what it has
      return (...args: unknown[]) => apply(part as Work, target, args)
    }
  })
}

function refuseTwins<T>({ id, keyOf }: Slot<T>, filled: readonly Filled<T>[]): void {
  const claims = keyOf ? filled.map(({ by, value }) => ({ by, key: keyOf(value) })) : []
  for (const { by, key } of claims) {
    const twin = claims.find(other => other.key === key && other.by !== by)
    if (twin) throw new Fault(startupInvalid, `${id} ${key} is claimed by ${by} and ${twin.by}`)
  }
}
