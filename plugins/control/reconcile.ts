// What an agent holds beside what it shall hold: the difference is sent, and nothing else is touched.
import type { Static } from 'typebox'
import type { ApplyResult, ManagedObject } from '../../kernel/control/managed-objects.ts'
import { Client, ManagedObjectRow } from '../../kernel/identity/entities.ts'
import { digestOf, Inventory, type InventoryPage } from '../../kernel/wire/control.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { openObjectRows } from './object-rows.ts'
import { keyOf, type OutboxOptions } from './outbox.ts'

type StockRow = Static<typeof InventoryPage.body>['rows'][number]

interface Options extends Pick<OutboxOptions, 'peer' | 'kinds' | 'generation' | 'store' | 'origins'> {
  readonly rows: readonly ManagedObject[] // all of this client, of loaded kinds
  readonly digest: string // as the agent said
  readonly load: (rows: readonly ManagedObject[]) => Promise<ReadonlyMap<ManagedObject, unknown>>
  readonly send: (rows: readonly ManagedObject[]) => Promise<{ readonly answered: Promise<unknown> }>
  readonly confirm: (row: ManagedObject, settlement: ApplyResult) => Promise<void>
  readonly wake: () => void
}

const taken: ApplyResult = { status: 'applied' }
const gone: ApplyResult = { status: 'removed' }
const chunkSize = 256
const maxStock = 100_000

/** Removals first, then a kind after the other, each answered before the next. */
export async function reconcile(options: Options): Promise<void> {
  const { rows, digest, generation, send, confirm } = options
  const wanted = await sendable(options)
  const removals = rows.filter(({ removal }) => removal !== null)
  if (removals.length === 0 && digest === digestOf(generation, wanted)) {
    await Promise.all(wanted.map(row => confirm(row, taken)))
    return
  }
  const stock = await inventory(options)
  const ahead = await catchUp(options, stock)
  const mine = rows.filter(row => !ahead.has(keyOf(row)))

  const has = ({ removal, ...row }: ManagedObject): StockRow | undefined => stock.get(keyOf(row))
  const isDraining = (row: ManagedObject): boolean =>
    row.removal === 'drain' && has(row)?.state === 'draining'
  const left = mine.filter(row => row.removal !== null && has(row))
  const settled = [
    ...mine.filter(row => row.removal !== null && !has(row)).map(row => confirm(row, gone)),
    ...left.filter(isDraining).map(row => confirm(row, taken))
  ]
  await Promise.all(settled)
  const cuts = [...strays(options, stock, wanted), ...left.filter(row => !isDraining(row))]
  await (await send(cuts)).answered

  for (const { kind, order } of options.kinds) {
    const due = wanted.filter(row => row.kind === kind && !ahead.has(keyOf(row)))
    const isInForce = (row: ManagedObject): boolean =>
      has(row)?.state === 'applied' && has(row)?.revision === row.revision
    await Promise.all(due.filter(isInForce).map(row => confirm(row, taken)))
    const missing = due.filter(row => !isInForce(row))
    const inOrder = order ? await options.store.read(em => order(missing, em)) : missing
    await (await send(inOrder)).answered
  }
}

/** Rows whose owner has something to send: one that lost a part of itself is left out, and must not be there. */
async function sendable({ rows, load }: Options): Promise<ManagedObject[]> {
  const wanted: ManagedObject[] = []
  for (let at = 0; at < rows.length; at += chunkSize)
    wanted.push(...(await load(rows.slice(at, at + chunkSize))).keys())
  return wanted
}

async function inventory({ peer }: Options): Promise<ReadonlyMap<string, StockRow>> {
  const stock = new Map<string, StockRow>()
  for (let after = ''; ; ) {
    const { rows, more } = await peer.request(Inventory, { after })
    for (const row of rows) stock.set(keyOf(row), row)
    const last = rows.at(-1)
    if (!more) return stock
    if (!last || keyOf(last) <= after || stock.size > maxStock)
      throw new Refused('wire.malformed', 'the inventory does not come to an end')
    after = keyOf(last)
  }
}

/** Revisions that this store never gave: the counter passes them, and what they were of gets a new one. */
async function catchUp({ rows, peer, store, origins, wake }: Options, stock: ReadonlyMap<string, StockRow>) {
  const { clientId } = peer
  const highest = [...stock.values()].reduce((max, { revision }) => Math.max(max, revision), 0)
  const ahead = rows.filter(row => (stock.get(keyOf(row))?.revision ?? 0) > row.revision)
  const behind = { id: clientId, revision: { $lt: highest } }
  await store.change(async em => {
    await em.nativeUpdate(Client, behind, { revision: highest })
    const held = openObjectRows(origins)
    for (const { kind, id } of ahead) {
      const row = await em.findOne(ManagedObjectRow, { clientId, kind, id })
      if (row?.removal) await held.drop(em, row, row.removal)
      else if (row) await held.put(em, row)
    }
  })
  if (ahead.length > 0) wake()
  return new Set(ahead.map(keyOf))
}

/** What the agent has and no row knows, or none that may be there. */
function strays(
  { peer, kinds, rows }: Options,
  stock: ReadonlyMap<string, StockRow>,
  wanted: readonly ManagedObject[]
) {
  const known = new Set([...wanted, ...rows.filter(({ removal }) => removal !== null)].map(keyOf))
  const kept = new Set(kinds.map(({ kind }) => kind))
  return [...stock.values()]
    .filter(row => kept.has(row.kind) && row.state !== 'draining' && !known.has(keyOf(row)))
    .map(
      ({ kind, id, revision }): ManagedObject => ({
        clientId: peer.clientId,
        kind,
        id,
        revision,
        removal: 'cut'
      })
    )
}
