// Adds the names of records to errors that have their ids.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, stackOf } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot } from '../../../kernel/slot.ts'

/** Names of one kind of record. `details` of an error get the name beside the id. */
export interface RecordNames {
  readonly idKey: string // 'rule_id'
  readonly nameKey: string // 'rule_name'
  /** Returns names by id, without records that have none. */
  load(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, string>>
}

export const recordNamesSlot = defineSlot<RecordNames>('http.record-names', { keyOf: ({ idKey }) => idKey })

/** Returns the fault with the names of the records in its details. It never rejects: a failure is logged, and the names are missing. */
export type NameRecords = (fault: Fault) => Promise<Fault>

export const openNameRecords =
  ({ store, filled, log }: Pick<Kernel, 'store' | 'filled' | 'log'>): NameRecords =>
  async fault => {
    const { errorCode, message, cause } = fault
    let { details } = fault
    for (const { by, value: names } of filled(recordNamesSlot)) {
      const ids = placesIn(details).flatMap(place => idIn(place, names) ?? [])
      if (ids.length === 0) continue
      try {
        const loaded = await store.read(em => names.load([...new Set(ids)], em))
        details = withNames(details ?? {}, names, loaded)
      } catch (error) {
        const fields = { slot: recordNamesSlot.id, filled_by: by, error: stackOf(error) }
        log.warn('request.names_missing', `an error names no ${names.nameKey}`, fields)
      }
    }
    return details === fault.details
      ? fault
      : new Fault(errorCode, message, { cause, details: { ...details } })
  }

type Place = Readonly<Record<string, unknown>>

/** Returns the details and the objects in their lists, such as `edges`. */
const placesIn = (details: Place | undefined): Place[] =>
  details === undefined
    ? []
    : [details, ...Object.values(details).flatMap(part => listOf(part).filter(isPlace))]

const listOf = (part: unknown): readonly unknown[] => (Array.isArray(part) ? part : [])

const isPlace = (part: unknown): part is Place => typeof part === 'object' && part !== null

function idIn(place: Place, { idKey, nameKey }: RecordNames): string | null {
  const id = place[idKey]
  return typeof id === 'string' && !(nameKey in place) ? id : null
}

function withNames(details: Place, names: RecordNames, loaded: ReadonlyMap<string, string>): Place {
  const named = (place: Place): Place => {
    const name = loaded.get(idIn(place, names) ?? '')
    return name === undefined ? place : { ...place, [names.nameKey]: name }
  }
  const inLists = (part: unknown): unknown =>
    Array.isArray(part) ? part.map(one => (isPlace(one) ? named(one) : one)) : part
  return Object.fromEntries(Object.entries(named(details)).map(([key, part]) => [key, inLists(part)]))
}
