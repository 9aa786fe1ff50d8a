import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Bytes, Count, defineMessage, defineRequest, Entries } from './message.ts'

export const protocolVersion = 1
export const alpn = 'svc-control/1'

const proto = new URL('./control.proto', import.meta.url)

const KindName = Type.String({ maxLength: 64 })
const ObjectId = Type.String({ maxLength: 128 })
/** Below 2^53, so that additions stay exact. */
export const Revision = Type.Integer({ minimum: 0, maximum: 2 ** 52 })
const change = { kind: KindName, id: ObjectId, revision: Revision }
const reason = { code: Type.String({ maxLength: 64 }), message: Type.String({ maxLength: 1024 }) }

export const Welcome = defineMessage({
  name: 'sluice.control.Welcome',
  proto,
  body: Type.Object({
    server_version: Type.String({ maxLength: 64 }),
    server_time_ms: Type.Number({ minimum: 0, maximum: 8.64e15 }),
    session_id: Type.String({ maxLength: 64 }),
    generation: Type.String({ maxLength: 64 }),
    kinds: Type.Array(KindName, { maxItems: 64 }),
    parts: Entries(Bytes, 64)
  })
})

export const Hello = defineRequest({
  name: 'sluice.control.Hello',
  proto,
  body: Type.Object({
    token: Type.String({ maxLength: 256 }),
    agent_version: Type.String({ maxLength: 64 }),
    protocol_version: Count,
    capabilities: Type.Optional(Type.Object({ versions: Entries(Type.String({ maxLength: 64 }), 256) })),
    instance_id: Type.String({ maxLength: 64 }),
    state_digest: Type.String({ maxLength: 64 })
  }),
  response: Welcome
})

const ObjectState = Type.Union([Type.Literal('applied'), Type.Literal('waiting'), Type.Literal('draining')])

export const maxInventoryRows = 500 // of one page
export const InventoryPage = defineMessage({
  name: 'sluice.control.InventoryPage',
  proto,
  body: Type.Object({
    rows: Type.Array(Type.Object({ ...change, state: ObjectState }), { maxItems: maxInventoryRows }),
    more: Type.Boolean()
  })
})

export const Inventory = defineRequest({
  name: 'sluice.control.Inventory',
  proto,
  body: Type.Object({ after: Type.String({ maxLength: 193 }) }),
  response: InventoryPage
})

export const ObjectRemoved = defineMessage({
  name: 'sluice.control.ObjectRemoved',
  proto,
  body: Type.Object(change)
})

export const ObjectStatus = defineMessage({
  name: 'sluice.control.ObjectStatus',
  proto,
  body: Type.Object({ ...change, ...reason })
})

const ended = { ...reason, retry_within_ms: Type.Optional(Count) }
export const Ended = defineMessage({ name: 'sluice.control.Ended', proto, body: Type.Object(ended) })

export const controlMessages = [Hello, Welcome, Inventory, InventoryPage, ObjectRemoved, ObjectStatus, Ended]

type ObjectRevision = Static<typeof ObjectRemoved.body>

/** The key of an object within one agent. Pages of the inventory are sorted by it. */
export const objectKey = ({ kind, id }: Pick<ObjectRevision, 'kind' | 'id'>): string => `${kind} ${id}`

/** SHA-256, hex, of the generation and the sorted lines `kind id revision` of all applied objects. */
export function digestOf(generation: string, rows: readonly ObjectRevision[]): string {
  const lines = rows.map(({ kind, id, revision }) => `${kind} ${id} ${revision}`).sort()
  return createHash('sha256')
    .update([generation, ...lines].join('\n'))
    .digest('hex')
}
