import { setImmediate } from 'node:timers/promises'
import { type ErrorCode, Fault } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { type DocumentSchema, documentSchemaSlot } from '../http/exports.ts'
import type { DocumentEntry } from '../rules/exports.ts'

interface Call {
  readonly filled: SlotReader
  readonly principal: Principal
}

type Entries = Readonly<Record<string, readonly DocumentEntry[]>>

const entriesPerTurn = 32

/** Returns the entries of each kind in the form of records. A Fault names the entry: `/rules/2/targets/0/host ...`. */
export async function normalizeEntries(document: object, { filled, principal }: Call): Promise<Entries> {
  const given = document as Entries // by the schema
  const normal: Record<string, DocumentEntry[]> = {}
  for (const { value: kind } of filled(documentSchemaSlot)) {
    const entries = given[kind.name]
    if (!entries) continue
    const list: DocumentEntry[] = []
    for (const entry of entries) {
      if (list.length % entriesPerTurn === entriesPerTurn - 1) await setImmediate() // lets other requests run
      list.push(normalize(kind, entry, list.length, principal))
    }
    normal[kind.name] = list
  }
  return normal
}

function normalize(kind: DocumentSchema, entry: DocumentEntry, at: number, principal: Principal) {
  try {
    return kind.normalize ? kind.normalize(entry, principal) : entry
  } catch (error) {
    throw error instanceof Fault ? locate(error, `/${kind.name}/${at}`) : error
  }
}

/** Adds the place of the entry to the message and to the field. */
function locate(error: Fault, place: string): Fault {
  const { errorCode, message, details = {} } = error
  const field = `${place}${typeof details['field'] === 'string' ? details['field'] : ''}`
  const text = message.startsWith('/') ? `${place}${message}` : `${place} ${message}`
  return new Fault(errorCode, text, { details: { ...details, field }, cause: error })
}

export const normalizeErrors = (filled: SlotReader): ErrorCode[] =>
  filled(documentSchemaSlot).flatMap(({ value }) => [...(value.errors?.() ?? [])])
