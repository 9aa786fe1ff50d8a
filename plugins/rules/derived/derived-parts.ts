// The derived objects of rules in the store. In each change of a rule they become what plugins derive from it.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, limitReached } from '../../../kernel/base/errors.ts'
import type { ObjectKey } from '../../../kernel/control/managed-objects.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import { rowBatches } from '../../../kernel/store/sql/row-batches.ts'
import type { Clients } from '../../clients/exports.ts'
import { openHasRows } from '../../http/exports.ts'
import { belongsOnAgent, isInForce, objectKeyOf } from '../delivery/rule-states.ts'
import { DerivedPartRow, isGroupRule, nothingPending, type Rule } from '../entities.ts'
import type { keys } from '../settings.ts'
import {
  type DerivedPart,
  type DerivingRule,
  derivedObjectSlot,
  type LoadedDerivedObject
} from './derived-object.ts'
import { type PartClients, requireClients, requireRoom } from './part-checks.ts'
import { requireUnneeded } from './require-unneeded.ts'

const maxParts = 32 // of a rule and kind

/** Each method reads and writes the objects of up to 128 rules with one statement. */
export interface DerivedParts {
  /** Makes the objects of the rules those that plugins derive now. Returns the ids of rules with changes. Throws a Fault. */
  sync(rules: readonly Rule[], clients: PartClients, em: EntityManager): Promise<ReadonlySet<string>>
  /** Returns the objects that clients have not acknowledged, by rule id. Their rules are held. */
  awaited(ruleIds: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, readonly ObjectKey[]>>
  /** Sends the rules to their clients, except held ones: the last acknowledgement sends those. */
  send(rules: readonly Pick<Rule, 'id' | 'clientId'>[], em: EntityManager): Promise<void>
  /** Makes the objects those of the rule without its earlier definition. Call it when the rule's client has applied the change. */
  dropLeaving(rule: Rule, em: EntityManager): Promise<void>
  /** Removes the objects of rules that are being removed; 'closed': those that do not wait for the end of connections. */
  drop(
    rules: readonly Pick<Rule, 'id'>[],
    which: 'all' | 'closed',
    removal: 'drain' | 'cut',
    em: EntityManager
  ): Promise<void>
  /** Returns why rules with a pending change wait for their objects, by rule id. */
  pendingReasons(rules: readonly MaybePending[], em: EntityManager): Promise<ReadonlyMap<string, string>>
  /** Throws if rules that would remain need the client. */
  requireUnneeded(clientId: string, em: EntityManager): Promise<void>
}

/** A rule that may have a pending change. */
type MaybePending = Pick<Rule, 'id' | 'state'> & { readonly isPending: boolean }

type Services = Pick<Kernel<typeof keys>, 'config' | 'control' | 'filled' | 'store'> & {
  readonly clients: Pick<Clients, 'pendingFaults'>
}
type Key = Pick<DerivedPartRow, 'clientId' | 'kind'>

interface WantedPart extends DerivedPart {
  readonly rule: Rule
  readonly kind: string
  readonly object: LoadedDerivedObject
}

const textOf = (id: string, { clientId, kind }: Key): string => `${id} ${clientId} ${kind}`
const textOfRow = (row: DerivedPartRow): string => textOf(row.rule, row)
const keyOf = ({ rule: id, clientId, kind }: DerivedPartRow): ObjectKey => ({ clientId, kind, id })

/** True for a rule that was refused at create. Its client does not get it. */
const isNeverSent = ({ state, activatedAt }: Rule): boolean => state === 'failed' && activatedAt == null

export function openDerivedParts(services: Services): DerivedParts {
  const { control, filled, store } = services
  const hasParts = openHasRows(store, DerivedPartRow)
  /** Asks nothing about one rule while no rule has a part. */
  const findParts = async (ruleIds: readonly string[], where: object, em: EntityManager) =>
    ruleIds.length === 1 && !(await hasParts(em)) ? [] : readParts(ruleIds, where, em)
  const objects = (): LoadedDerivedObject[] => filled(derivedObjectSlot).map(({ value }) => value)
  const isLoaded = ({ kind }: Key): boolean => objects().some(object => object.kind === kind)

  const findLoaded = async (
    ruleIds: readonly string[],
    where: object,
    em: EntityManager
  ): Promise<DerivedPartRow[]> =>
    objects().length === 0 ? [] : (await findParts(ruleIds, where, em)).filter(isLoaded)

  async function awaited(ruleIds: readonly string[], em: EntityManager) {
    const rows = await findLoaded(ruleIds, { isApplied: false, isLeaving: false }, em)
    return Map.groupBy(rows.map(keyOf), ({ id }) => id)
  }

  return {
    async sync(rules, clients, em) {
      const changed = new Set<string>()
      const given = objects().length === 0 ? [] : rules.filter(rule => !isGroupRule(rule))
      for (const batch of rowBatches(given)) {
        const stored = await findLoaded(idsOf(batch), {}, em)
        const parts = { stored, objects: objects() }
        for (const id of await syncBatch(services, batch, { ...parts, clients }, em)) changed.add(id)
      }
      return changed
    },
    awaited,
    async send(rules, em) {
      const held = await awaited(idsOf(rules), em)
      const sent = rules.filter(({ id }) => !held.has(id))
      if (sent.length > 0) await control.objects.put(em, ...sent.map(objectKeyOf))
    },
    async dropLeaving(rule, em) {
      const stored = await findLoaded([rule.id], {}, em)
      if (stored.length > 0) await dropEarlier(services, rule, { stored, objects: objects() }, em)
    },
    async drop(rules, which, removal, em) {
      const isDue = ({ kind }: Key): boolean =>
        which === 'all' || objects().some(object => object.kind === kind && object.until === 'closed')
      const rows = await findParts(idsOf(rules), {}, em)
      await dropRows(services, rows.filter(isDue), removal, em)
    },
    async pendingReasons(rules, em) {
      const waiting = rules.filter(rule => rule.isPending && isInForce(rule))
      return reasonsOf(await awaited(idsOf(waiting), em), objects())
    },
    requireUnneeded: (clientId, em) => requireUnneeded(clientId, objects(), em)
  }
}

async function syncBatch(
  services: Services,
  batch: readonly Rule[],
  { stored, objects, clients }: StoredParts & { readonly clients: PartClients },
  em: EntityManager
): Promise<ReadonlySet<string>> {
  const withObjects = new Set(stored.map(({ rule }) => rule))
  const rules = batch.filter(rule => !isNeverSent(rule) || withObjects.has(rule.id))
  const derived = await derive(objects, rules, em)
  const wanted = clients === 'stored' ? await onClients(derived, em) : derived // one may be deleted
  return writeParts(services, { rules, stored, wanted, clients }, em)
}

function reasonsOf(
  awaited: ReadonlyMap<string, readonly ObjectKey[]>,
  objects: readonly LoadedDerivedObject[]
): Map<string, string> {
  const reasons = new Map<string, string>()
  for (const [id, keys] of awaited) {
    const waiting = objects.filter(({ kind }) => keys.some(key => key.kind === kind))
    const reason = waiting.find(({ pendingReason }) => pendingReason !== undefined)?.pendingReason
    if (reason !== undefined) reasons.set(id, reason)
  }
  return reasons
}

const idsOf = (rules: readonly Pick<Rule, 'id'>[]): string[] => rules.map(({ id }) => id)

async function readParts(
  ruleIds: readonly string[],
  where: object,
  em: EntityManager
): Promise<DerivedPartRow[]> {
  const rows: DerivedPartRow[] = []
  for (const ids of rowBatches(ruleIds))
    rows.push(...(await em.find(DerivedPartRow, { ...where, rule: { $in: [...ids] } })))
  return rows
}

/** Returns the parts that the plugins derive from the rules. */
async function derive(
  objects: readonly LoadedDerivedObject[],
  rules: readonly Rule[],
  em: EntityManager
): Promise<WantedPart[]> {
  const parts: WantedPart[] = []
  for (const object of objects) {
    const { kind } = object
    const derived = await object.derive(rules.map(toDeriving), em, object)
    for (const rule of rules) {
      const own = derived.get(rule.id) ?? []
      requireDistinct(own, object, rule)
      parts.push(...own.map(part => ({ ...part, rule, kind, object })))
    }
  }
  return parts
}

/** A rule that failed, or that was never active, has nothing in force. */
function toDeriving(rule: Rule): DerivingRule {
  const { before, activatedAt, movedFrom, movedTo, listenFrom, listenTo } = rule
  if (before == null || before.failedWith !== undefined || activatedAt == null)
    return { ...rule, inForce: null }
  const { targets } = before.rule
  return { ...rule, inForce: { targets, from: movedFrom ?? listenFrom, to: movedTo ?? listenTo } }
}

function requireDistinct(
  own: readonly DerivedPart[],
  { kind, field }: LoadedDerivedObject,
  { id }: Rule
): void {
  if (own.length > maxParts) {
    const message = `${field} needs ${own.length} objects on clients; ${maxParts} are the most`
    throw new Fault(limitReached, message, { details: { limit: maxParts, field } })
  }
  if (new Set(own.map(({ clientId }) => clientId)).size < own.length)
    throw new TypeError(`${kind} of rule ${id} is derived twice for one client`)
}

interface PartsOfRules {
  readonly rules: readonly Rule[]
  readonly stored: readonly DerivedPartRow[]
  readonly wanted: readonly WantedPart[]
  readonly clients: PartClients
}

const columns = 7 // of a row

/**
 * Returns the ids of rules with changes. Objects that a rule no longer has stay until its client has applied the change, if
 * it has the rule.
 */
async function writeParts(
  services: Services,
  { rules, stored, wanted, clients }: PartsOfRules,
  em: EntityManager
): Promise<ReadonlySet<string>> {
  const present = new Map(stored.map(row => [textOfRow(row), row]))
  const written: DerivedPartRow[] = []
  const needed: Pick<WantedPart, 'clientId' | 'object'>[] = []
  for (const { rule, clientId, kind, body, object } of wanted) {
    const row = present.get(textOf(rule.id, { clientId, kind }))
    const isSame = row !== undefined && isDeepStrictEqual(row.body, body)
    if (isSame && !row.isLeaving && (row.isApplied || clients === 'stored')) continue // a refused one is sent again
    needed.push({ clientId, object })
    const isApplied = isSame && row.isApplied
    const { id, owner } = rule
    written.push({ rule: id, clientId, kind, owner, body, isApplied, isLeaving: false })
  }
  if (clients !== 'stored') await requireClients(services, needed, clients, em)
  for (const some of rowBatches(written, columns)) await em.upsertMany(DerivedPartRow, [...some])
  const sent = written.filter(({ isApplied }) => !isApplied)
  await requireRoom(
    services,
    sent.filter(row => !present.has(textOfRow(row))),
    em
  )
  const kept = new Set(wanted.map(part => textOf(part.rule.id, part)))
  const gone = stored.filter(row => !kept.has(textOfRow(row)))
  const leaving = gone.filter(({ isLeaving }) => !isLeaving)
  for (const where of rowFilters(leaving)) await em.nativeUpdate(DerivedPartRow, where, { isLeaving: true })
  if (sent.length > 0) {
    const keys = sent.map(keyOf)
    await services.control.objects.put(em, ...keys)
    wakeAfterCommit(services, keys, em)
  }
  const offAgent = new Set(idsOf(rules.filter(rule => !belongsOnAgent(rule))))
  await dropRows(
    services,
    gone.filter(({ rule }) => offAgent.has(rule)),
    'cut',
    em
  )
  return new Set([...sent, ...leaving].map(({ rule }) => rule))
}

interface StoredParts {
  readonly stored: readonly DerivedPartRow[]
  readonly objects: readonly LoadedDerivedObject[]
}

/** Removes what the objects of a rule have for its earlier definition. */
async function dropEarlier(
  services: Services,
  rule: Rule,
  { stored, objects }: StoredParts,
  em: EntityManager
): Promise<void> {
  const derived = await derive(objects, [{ ...rule, ...nothingPending }], em)
  const wanted = new Map((await onClients(derived, em)).map(part => [textOf(rule.id, part), part]))
  await narrow(services, stored, wanted, em)
  const gone = stored.filter(row => row.isLeaving || !wanted.has(textOfRow(row)))
  await dropRows(services, gone, 'drain', em)
}

/** Sends objects of a rule that differ from what is wanted now. Nothing waits for them: they only lose what nobody needs. */
async function narrow(
  services: Services,
  stored: readonly DerivedPartRow[],
  wanted: ReadonlyMap<string, WantedPart>,
  em: EntityManager
): Promise<void> {
  const narrowed = stored.flatMap(row => {
    const part = row.isLeaving ? undefined : wanted.get(textOfRow(row))
    return part === undefined || isDeepStrictEqual(row.body, part.body) ? [] : [{ ...row, body: part.body }]
  })
  if (narrowed.length === 0) return
  for (const some of rowBatches(narrowed, columns)) await em.upsertMany(DerivedPartRow, [...some])
  const keys = narrowed.map(keyOf)
  await services.control.objects.put(em, ...keys)
  wakeAfterCommit(services, keys, em)
}

/** Returns conditions that match the rows, one for each client and kind. */
function* rowFilters(rows: readonly DerivedPartRow[]) {
  for (const same of Map.groupBy(rows, ({ clientId, kind }) => `${clientId} ${kind}`).values())
    for (const [first, ...others] of rowBatches(same)) {
      if (!first) continue
      const { clientId, kind } = first
      yield { clientId, kind, rule: { $in: [first, ...others].map(({ rule }) => rule) } }
    }
}

/** Returns the parts on clients that exist. */
async function onClients<P extends Pick<DerivedPart, 'clientId'>>(
  parts: readonly P[],
  em: EntityManager
): Promise<P[]> {
  const ids = [...new Set(parts.map(({ clientId }) => clientId))]
  const present = new Set<string>()
  for (const some of rowBatches(ids)) {
    const found = await em.find(Client, { id: { $in: [...some] } }, { fields: ['id'] })
    for (const { id } of found) present.add(id)
  }
  return parts.filter(({ clientId }) => present.has(clientId))
}

async function dropRows(
  services: Services,
  rows: readonly DerivedPartRow[],
  removal: 'drain' | 'cut',
  em: EntityManager
): Promise<void> {
  if (rows.length === 0) return
  const keys = (await onClients(rows, em)).map(keyOf)
  for (const where of rowFilters(rows)) await em.nativeDelete(DerivedPartRow, where)
  if (keys.length === 0) return
  await services.control.objects.drop(em, keys, removal)
  wakeAfterCommit(services, keys, em)
}

const wakeAfterCommit = ({ control }: Services, keys: readonly ObjectKey[], em: EntityManager): void =>
  afterCommit(em, () => {
    for (const clientId of new Set(keys.map(key => key.clientId))) control.objects.wake(clientId)
  })
