// Property: after a document was applied, the server matches it and its own export. The values come from the schemas of the
// entries, so that a new field takes part.
import t, { type Test } from 'tap'
import type { TSchema } from 'typebox'
import { Fault } from '../../../kernel/base/errors.ts'
import { ClientId } from '../../../kernel/http/schema.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/public.ts'
import { type DocumentSchema, documentSchemaSlot, violationsOf } from '../../http/exports.ts'
import type { DocumentEntry } from '../../rules/command-exports.ts'
import { type Document, formatDocument, readDocument } from '../document.ts'
import { openDocumentContext } from '../document-context.ts'
import { makePlan, type Step } from '../plan.ts'
import { runPlan } from '../run-plan.ts'
import { apiOf, exportOf, filled } from './apply-fixture.ts'

/** Tried as the value of each text, so that a field of any form has an accepted one, in spellings that are not normal. */
const texts = [
  ...['ann', '_operator', 'paris', '*', '@Office', ' padded ', '', 'TCP', 'Udp', '08:00', '24:00'],
  ...['10.0.0.1/8', '10.0.0.1', '2001:DB8::1/32', '2001:DB8:0::1', '::ffff:10.1.2.3', '::ffff:10.0.0.1/104'],
  ...[
    '[0:0::1]',
    '[2001:DB8::1]:50-50',
    'DB.Example.ORG.',
    'Db.Example.org:5-5',
    '*.Example.ORG',
    'A.Example.'
  ],
  ...[
    '2099-01-01T02:00:00+02:00',
    '2099-01-01t00:00:00z',
    '2099-01-01T00:00:00.1234567Z',
    '2098-01-01T00:00:00-00:00',
    '9999-12-31T23:59:59-01:00'
  ],
  ...[
    'europe/paris',
    'UTC',
    'XN--BCHER-KVA.example',
    'b\u00fccher.example',
    'env=prod, tier != db',
    'e\u0301'
  ]
]

const [exampleClient = ''] = (ClientId as { readonly examples?: readonly string[] }).examples ?? []

/** Objects and lists of texts that a schema does not describe. */
const labels = [{ b: '', a: 'x', 'Example.com/T.1': 'Y' }, { 'example.com/Tier': 'db', a: '' }, {}]

const targets = [
  { host: 'A.Example.', port: 1 },
  { host: '[::1]', port: 2 }
]

/** Some fields need others. Takes the first surroundings with which the server accepts a value. */
const surroundings: Readonly<Record<string, readonly DocumentEntry[]>> = {
  rules: [
    {},
    { protocol: 'UDP' },
    { balance: 'round_robin', targets },
    { balance: 'source_hash', targets },
    { protocol: 'udp', proxy_out: 2 },
    { client: undefined }
  ]
}

/** Returns an entry of each kind with the least values. No two numbers give the same object. */
const leastEntries: Readonly<Record<string, (at: number) => DocumentEntry>> = {
  users: at => ({ user_id: `u${at}` }),
  grants: at => ({
    user_id: 'ann',
    client: 'paris',
    listen_port_start: 1,
    listen_port_end: at + 1,
    protocols: ['tcp']
  }),
  quotas: at => ({ user_id: `q${at}`, client: 'paris', monthly_bytes: 1 }),
  owner_limits: at => ({ client: 'paris', owner: `o${at}`, rate_limit: { concurrent_connections: 1 } }),
  rules: at => ({ client: 'paris', listen_port: at + 1, targets: [{ host: 'a', port: 1 }] }),
  link_endpoints: at => ({ client: `near${at}` }),
  links: at => ({ entry: `near${at}`, exit: 'far' })
}

/** Properties with values that must fit other objects. A field that a plugin adds is not one of them. */
const linked: Readonly<Record<string, readonly string[]>> = {
  users: ['user_id'],
  grants: ['user_id', 'client', 'client_id', 'listen_port_start', 'listen_port_end'],
  quotas: ['user_id', 'client', 'client_id'],
  owner_limits: ['client', 'owner'],
  rules: ['client', 'rule_id', 'owner', 'placed_by', 'listen_port', 'listen_port_end', 'if_offline', 'via'],
  link_endpoints: ['client'],
  links: ['entry', 'exit']
}

/** Entries with values of these properties; the last one is the tried one. */
const linkedEntries: Readonly<Record<string, readonly DocumentEntry[]>> = {
  grants: [{ client: '*' }, { client: exampleClient }],
  quotas: [{ client: exampleClient }],
  owner_limits: [{ client: exampleClient }],
  rules: [
    { client: exampleClient },
    { if_offline: 'queue' },
    { placed_by: '_operator', owner: 'ann' },
    { placed_by: '_operator', listen_port_end: null },
    { listen_port: 60_000, listen_port_end: 60_000 },
    { listen_port: 60_001, listen_port_end: 60_002 },
    { client: exampleClient, via: ['far'] },
    { listen_port: 60_003, targets: [{ host: 'a', port: 1, via: ['relay', 'far'] }] }
  ]
}

/** Returns values for a schema, accepted or not, at most some dozens. */
function valuesFor(schema: TSchema): unknown[] {
  const { anyOf, type, minimum = 0, maximum, examples = [], patternProperties } = schema as Schema
  if ('const' in schema) return [schema.const]
  if (anyOf) return anyOf.flatMap(valuesFor)
  if (type === 'null') return [null]
  if (type === 'boolean') return [true, false]
  if (type === 'integer')
    return [...new Set([minimum, 1, 2, 60, ...(maximum === undefined ? [] : [maximum]), ...examples])]
  if (type === 'string') return [...texts, ...examples]
  if (patternProperties) return labels
  if (type === 'array') return listsFor(schema as Schema)
  return type === 'object' ? objectsFor(schema as Schema) : []
}

interface Schema extends TSchema {
  readonly anyOf?: readonly TSchema[]
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly examples?: readonly unknown[]
  readonly patternProperties?: object
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
}

/** Lists of one value, of one twice, and of all in both orders. */
function listsFor({ items, examples = [] }: Schema): unknown[] {
  const accepted = valuesFor(items ?? {}).filter(value => violationsOf(items ?? {}, value).length === 0)
  const some = accepted.slice(0, 3)
  return [...accepted.flatMap(value => [[value], [value, value]]), some, some.toReversed(), [], ...examples]
}

/** The required properties with each value of each property, written in reverse. */
function objectsFor({ properties = {}, required = [], examples = [] }: Schema): unknown[] {
  const values = Object.entries(properties).map(
    ([key, part]) => [key, valuesFor(part).filter(value => violationsOf(part, value).length === 0)] as const
  )
  const least = Object.fromEntries(
    values.filter(([key]) => required.includes(key)).map(([key, [first]]) => [key, first])
  )
  const most = Object.fromEntries(values.map(([key, all]) => [key, all.at(-1)]).toReversed())
  const single = values.flatMap(([key, all]) => all.map(value => ({ ...least, [key]: value })))
  return [...single, most, ...examples]
}

interface Sample {
  readonly kind: string
  readonly property: string
  readonly base: DocumentEntry // without the property
  readonly entry: DocumentEntry
}

const mostValues = 24 // of each property

/** Returns entries with the accepted values of each property of each kind. */
function samplesOf({ filled }: Pick<Kernel, 'filled'>): Sample[] {
  const samples: Sample[] = []
  for (const { value: kind } of filled(documentSchemaSlot)) {
    const schema = kind.entry() as Schema
    const add = (property: string, more: DocumentEntry): boolean => {
      const least = leastEntry(kind.name, samples.length)
      const entry = withoutUndefined({ ...least, ...more })
      if (!isAccepted(kind, schema, entry)) return false
      const base = Object.fromEntries(
        Object.entries(entry).filter(([key]) => key !== property || key in least)
      )
      return (
        samples.push({ kind: kind.name, property, base: { ...base, ...pick(least, property) }, entry }) > 0
      )
    }
    for (const [property, part] of Object.entries(schema.properties ?? {})) {
      if (linked[kind.name]?.includes(property)) continue
      const around = surroundings[kind.name] ?? [{}]
      const isTaken = (value: unknown) => around.some(more => add(property, { ...more, [property]: value }))
      valuesFor(part).values().filter(isTaken).take(mostValues).toArray()
    }
    for (const more of linkedEntries[kind.name] ?? []) add(Object.keys(more).at(-1) ?? '', more)
  }
  return samples
}

function leastEntry(kind: string, at: number): DocumentEntry {
  const entry = leastEntries[kind]?.(at)
  if (entry) return entry
  throw new TypeError(`add an entry of ${kind} to leastEntries`)
}

const pick = (entry: DocumentEntry, key: string): DocumentEntry => (key in entry ? { [key]: entry[key] } : {})

function isAccepted(kind: DocumentSchema, schema: TSchema, entry: DocumentEntry): boolean {
  const principal = { userId: '_operator', role: 'superadmin', method: 'operator_token' } as const
  if (violationsOf(schema, entry).length > 0) return false
  try {
    kind.normalize?.(withId(entry), principal)
    return true
  } catch (error) {
    if (error instanceof Fault) return false
    throw error
  }
}

/** Commands send ids of clients. */
const withId = ({ client, ...entry }: DocumentEntry): DocumentEntry =>
  client === undefined
    ? entry
    : { ...entry, ...('protocols' in entry || 'monthly_bytes' in entry ? { client_id: client } : { client }) }

const withoutUndefined = (entry: DocumentEntry): DocumentEntry =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined))

const exits = ['far', 'relay']

/** Returns the clients with links that the entries name. */
const nearIn = (samples: readonly Sample[]): string[] =>
  samples.flatMap(({ entry: { client, entry = client } }) =>
    /^near/.test(String(entry)) ? [String(entry)] : []
  )

/** Returns a document of the entries, with the users, links and ends of links that they name. */
function documentOf(samples: readonly Sample[], part: 'base' | 'entry'): Document {
  const named = samples
    .flatMap(({ entry: { user_id = null, owner = null } }) => [user_id, owner])
    .filter(id => /^[qo]\d/.test(String(id)))
  const own = Map.groupBy(samples, ({ kind }) => kind)
  const lists = Object.fromEntries([...own].map(([kind, all]) => [kind, all.map(sample => sample[part])]))
  const linked = nearIn(own.get('links') ?? [])
  return {
    ...lists,
    link_endpoints: [
      ...(lists['link_endpoints'] ?? []),
      ...[...exits, ...linked].map(client => ({ client }))
    ],
    rules: [
      ...(lists['rules'] ?? []),
      ...linked.map(client => ({ client, listen_port: 1, targets: [{ host: 'a', port: 1 }], via: ['far'] }))
    ],
    users: [
      ...(lists['users'] ?? []),
      ...[...new Set(named)].map(user_id => ({ user_id })),
      { user_id: 'ann' },
      { user_id: 'root', role: 'superadmin' }
    ]
  }
}

async function settleFixture(t: Test) {
  const app = await testServer(t)
  const { filled: served, store } = app.server.depsOf('apply')
  const samples = samplesOf({ filled: served })
  const insert = (name: string, id = newId(app.clock.now())) =>
    store.change(em => em.insert(Client, { id, name, revision: 0, enrolledAt: app.clock.now() }))
  await insert('paris', exampleClient)
  for (const name of [...exits, ...nearIn(samples)]) await insert(name) // never connected: nothing waits for them
  await app.call('PUT', '/v1/source-lists/Office', { entries: ['10.0.0.0/8'] })
  const context = await openDocumentContext({ api: apiOf(app), filled }, { if_offline: 'queue' })
  const planOf = async (document: Document, prune: 'prune' | 'keep' = 'keep') =>
    (await makePlan(document, prune, context)).steps
  return {
    samples,
    properties: served(documentSchemaSlot).flatMap(({ value: { name, entry } }) =>
      Object.keys((entry() as Schema).properties ?? {}).map(property => `${name} ${property}`)
    ),
    planOf,
    exported: () => exportOf(context),
    /** Returns the reasons of refused steps. */
    async apply(document: Document): Promise<string[]> {
      const refusals: string[] = []
      await runPlan(await planOf(document), {
        beforeStep: async () => {},
        report({ step, result, reason }) {
          if (result === 'refused') refusals.push(`${step.label}: ${reason}`)
        }
      })
      return refusals
    }
  }
}

/** Properties that identify an object or cannot change. */
const lasting = [
  'billing_anchor',
  'kind',
  'owner',
  'clients',
  'listen_port_end',
  'sni_pattern',
  'sni_fallback'
]

const describe = (steps: readonly Step[]) =>
  steps.map(({ verb, label, changes }) => [verb, label, ...changes].join(' '))

const kindNames = Object.keys(leastEntries)

t.test('each property of a document has accepted values here', async t => {
  const { samples, properties } = await settleFixture(t)
  const tried = new Set(samples.map(({ kind, property }) => `${kind} ${property}`))
  for (const [kind, keys] of Object.entries(linked)) for (const key of keys) tried.add(`${kind} ${key}`)
  t.same(
    properties.filter(name => !tried.has(name)),
    [],
    'add values to texts or surroundings'
  )
})

for (const from of ['nothing', 'other values'] as const)
  t.test(`from ${from}, a document in any spelling is applied once, and then matches`, async t => {
    const { samples, planOf, exported, apply } = await settleFixture(t)
    const changeable = samples.filter(({ property }) => !lasting.includes(property))
    const bare = documentOf(changeable, 'base')
    if (from === 'other values') t.same(await apply(bare), [])
    const document = documentOf(samples, 'entry')

    t.same(await apply(document), [], 'nothing is refused')

    t.same(describe(await planOf(document)), [])
    const all = await exported()
    const dir = t.testdir({ toml: formatDocument(all, 'toml'), json: formatDocument(all, 'json') })
    for (const name of ['toml', 'json']) {
      const { entries } = await readDocument(`${dir}/${name}`, kindNames)
      t.same(describe(await planOf(entries, 'prune')), [], `the export matches, as ${name}`)
    }
    if (from === 'other values') return
    t.same(await apply(bare), [], 'the values are removed')
    t.same(describe(await planOf(bare)), [])
  })
