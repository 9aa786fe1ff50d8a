// Compares the objects of an agent with the rows of its client, and sends the difference.
import type { Static } from 'typebox'
import type { ApplyResult, ManagedObject } from '../../../kernel/control/managed-objects.ts'
import { Client, ManagedObjectRow } from '../../../kernel/identity/entities.ts'
import { digestOf, Inventory, type InventoryPage, objectKey } from '../../../kernel/wire/control.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import { renewGeneration } from './client-generations.ts'
import { writeRows } from './managed-objects.ts'
import type { OutboxOptions, PushWindow } from './push-window.ts'

type InventoryRow = Static<typeof InventoryPage.body>['rows'][number]
type ObjectsOfAgent = ReadonlyMap<string, InventoryRow>

interface Options extends OutboxOptions {
  readonly rows: readonly ManagedObject[] // all of this client, of loaded kinds
  readonly digest: string // from the agent; '': unknown
  readonly window: Pick<PushWindow, 'load' | 'send'>
  readonly wake: () => void
}

const applied: ApplyResult = { status: 'applied' }
const removed: ApplyResult = { status: 'removed' }
const chunkSize = 256
const maxInventory = 100_000
const maxLeap = 2 ** 20 // more changes than a rolled-back store has lost

/**
 * Sends removals first, then one kind after another, each answered before the next. Sends nothing if the digests are
 * equal and no removal waits.
 */
export async function reconcile(options: Options): Promise<void> {
  const { rows, digest, generation, record, window } = options
  const wanted = await sendable(options)
  const removals = rows.filter(({ removal }) => removal !== null)
  if (removals.length === 0 && digest === digestOf(generation, wanted)) {
    await Promise.all((await unsettled(options, wanted)).map(row => record(row, applied)))
    return
  }
  const present = await inventory(options)
  if (await isRenewed(options, present)) return
  const outdated = await catchUp(options, present)
  const isCurrent = (row: ManagedObject): boolean => !outdated.has(objectKey(row))
  const isInForce = (row: ManagedObject): boolean => {
    const object = present.get(objectKey(row))
    return object?.state === 'applied' && object.revision === row.revision
  }

  const cuts = await recordRemovals(options, removals.filter(isCurrent), present)
  await (await window.send([...strays(options, present, wanted), ...cuts])).answered

  for (const [name, { complete }] of options.kinds) {
    const due = wanted.filter(row => row.kind === name && isCurrent(row))
    const [inForce, missing] = partition(due, isInForce)
    await Promise.all(inForce.map(row => record(row, applied)))
    await (await window.send(missing.map(row => ({ ...row, isDeferred: complete !== undefined })))).answered
    if (complete && missing.length > 0) await options.peer.request(complete, {}).catch(ignoreUnknown)
  }
}

/** An agent that does not know the message has applied the objects already. */
function ignoreUnknown(error: unknown): void {
  if (!(error instanceof Refused) || error.code !== 'wire.unknown_message') throw error
}

/** Returns rows with a body. The agent must not have the others, for example a rule with a field that no plugin owns. */
async function sendable({ rows, window }: Options): Promise<ManagedObject[]> {
  const wanted: ManagedObject[] = []
  for (let at = 0; at < rows.length; at += chunkSize)
    wanted.push(...(await window.load(rows.slice(at, at + chunkSize))).keys())
  return wanted
}

/** Returns the rows that the store does not have as applied yet. */
async function unsettled(
  { kinds, store }: Options,
  wanted: readonly ManagedObject[]
): Promise<ManagedObject[]> {
  const found: ManagedObject[] = []
  for (const [kind, rows] of Map.groupBy(wanted, row => row.kind))
    for (let at = 0; at < rows.length; at += chunkSize) {
      const some = rows.slice(at, at + chunkSize)
      const settled = await store.read(async em => (await kinds.get(kind)?.settled?.(some, em)) ?? new Set())
      found.push(...some.filter(({ id }) => !settled.has(id)))
    }
  return found
}

/** Reads all pages of the agent's inventory. Returns its objects of loaded kinds. */
async function inventory({ peer, kinds }: Options): Promise<ObjectsOfAgent> {
  const present = new Map<string, InventoryRow>()
  let read = 0
  for (let after = ''; ; ) {
    const { rows, more } = await peer.request(Inventory, { after })
    for (const row of rows) if (kinds.has(row.kind)) present.set(objectKey(row), row)
    read += rows.length
    const last = rows.at(-1)
    if (!more) return present
    if (!last || objectKey(last) <= after || read > maxInventory)
      throw new Refused('wire.malformed', 'the inventory does not end')
    after = objectKey(last)
  }
}

/** Records the removals that the agent has begun or finished, and returns the others, which must be sent. */
async function recordRemovals(
  { record }: Options,
  removals: readonly ManagedObject[],
  present: ObjectsOfAgent
): Promise<ManagedObject[]> {
  const isDraining = (row: ManagedObject): boolean => present.get(objectKey(row))?.state === 'draining'
  const [remaining, gone] = partition(removals, row => present.has(objectKey(row)))
  const [draining, unsent] = partition(remaining, row => row.removal === 'drain' && isDraining(row))
  await Promise.all([...gone.map(row => record(row, removed)), ...draining.map(row => record(row, applied))])
  return unsent
}

/**
 * Gives the client a new generation if its agent reports a revision far above this server's: the counter of the client
 * would come close to its maximum. The agent reconnects.
 */
async function isRenewed({ store, peer, log }: Options, present: ObjectsOfAgent): Promise<boolean> {
  const { clientId: id } = peer
  const highest = highestIn(present)
  if (await isGiven(store, id, highest)) return false
  const isImplausible = await peer.change(async em => {
    if ((await em.count(Client, { id, revision: { $lt: highest - maxLeap } })) === 0) return false
    await renewGeneration(id, em)
    return true
  })
  if (!isImplausible) return false
  const fields = { client_id: id, revision: highest }
  log.warn('client.revision_implausible', 'the agent gets everything again', fields)
  peer.end('revision_implausible')
  return true
}

/** Only reads, so that a returning fleet does not queue for changes of the store. */
const isGiven = (store: Options['store'], id: string, revision: number): Promise<boolean> =>
  store.read(async em => (await em.count(Client, { id, revision: { $gte: revision } })) > 0)

const highestIn = (present: ObjectsOfAgent): number =>
  [...present.values()].reduce((max, { revision }) => Math.max(max, revision), 0)

/**
 * After a restore, the agent may have higher revisions than this store. Raises the client's counter to the highest, and
 * gives rows that are behind a new revision; they are sent as changes. Returns their keys.
 */
async function catchUp({ rows, peer, store, changeNumber, wake }: Options, present: ObjectsOfAgent) {
  const { clientId } = peer
  const highest = highestIn(present)
  const behind = rows.filter(row => (present.get(objectKey(row))?.revision ?? 0) > row.revision)
  if (!(await isGiven(store, clientId, highest)))
    await peer.change(em =>
      em.nativeUpdate(Client, { id: clientId, revision: { $lt: highest } }, { revision: highest })
    )
  for (let at = 0; at < behind.length; at += chunkSize)
    await peer.change(async em => {
      for (const { kind, id } of behind.slice(at, at + chunkSize)) {
        const row = await em.findOne(ManagedObjectRow, { clientId, kind, id })
        if (row) await writeRows(em, [row], row.removal ?? null, changeNumber)
      }
    })
  if (behind.length > 0) wake()
  return new Set(behind.map(objectKey))
}

/** Returns removals of objects that are on the agent and have no row, or a row without a body to send. */
function strays(
  { peer: { clientId }, kinds, rows }: Options,
  present: ObjectsOfAgent,
  wanted: readonly ManagedObject[]
): ManagedObject[] {
  const known = new Set([...wanted, ...rows.filter(({ removal }) => removal !== null)].map(objectKey))
  return [...present.values()]
    .filter(row => kinds.has(row.kind) && row.state !== 'draining' && !known.has(objectKey(row)))
    .map(({ kind, id, revision }) => ({ clientId, kind, id, revision, removal: 'cut' }))
}

const partition = <T>(values: readonly T[], test: (value: T) => boolean): [T[], T[]] => [
  values.filter(test),
  values.filter(value => !test(value))
]
