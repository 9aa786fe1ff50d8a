// A tenant's transcript is the same whether clients, rules and users exist that the tenant must not see.
import t, { type Test } from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { capability, Targets } from '../../plugins/grants/wire.ts'
import { type RulesFixture, rulesFixture } from '../../plugins/rules/test/fixture.ts'
import { messages, updateCapability } from '../../plugins/rules/wire.ts'
import { rows } from './access-table.ts'

const target = { targets: [{ host: '10.0.0.1', port: 80 }] }
const unseen = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

interface World extends RulesFixture {
  readonly headers: { readonly authorization: string }
  readonly seen: string
  readonly guessed: string // the id of a hidden client, or an unknown one
  /** Changes what the tenant must not see; does nothing in the world without it. */
  stir(): Promise<void>
}

const agentOf = (world: RulesFixture, id: string) =>
  world.connect(id, {
    capabilities: { [capability.id]: capability.since, [updateCapability.id]: updateCapability.since },
    messages: [...messages, Targets]
  })

async function expect201(reply: Promise<{ status: number; text: string }>): Promise<void> {
  const { status, text } = await reply
  if (status !== 201) throw new Error(text)
}

async function openWorld(t: Test, isCrowded: boolean): Promise<World> {
  const fixture = await rulesFixture(t, {
    plugins: Object.keys(builtin).filter(name => name !== 'process'), // needs a real clock
    keys: { max_rules_per_owner_per_client: 4 }
  })
  const { call, clock } = fixture
  const headers = await fixture.user('ann')
  const seen = await fixture.enroll('edge')
  await call('PATCH', `/v1/clients/${seen}`, { labels: { env: 'prod' } })
  await agentOf(fixture, seen)
  const grant = {
    user_id: 'ann',
    client: 'edge',
    protocols: ['tcp'],
    listen_port_start: 8000,
    listen_port_end: 8999
  }
  await expect201(call('POST', '/v1/grants', grant))
  if (!isCrowded) return { ...fixture, headers, seen, guessed: unseen, stir: async () => {} }

  const guessed = await fixture.enroll('edge') // two clients may have one name
  await call('PATCH', `/v1/clients/${guessed}`, { labels: { env: 'prod', customer: 'yes' } })
  await agentOf(fixture, guessed)
  await call('POST', '/v1/users', { user_id: 'bob', display_name: 'canary' })
  await expect201(call('POST', '/v1/rules', { client: guessed, listen_port: 8080, ...target, owner: 'bob' }))
  let stirred = 0
  const stir = async (): Promise<void> => {
    const id = await fixture.enroll(`customer-${++stirred}`)
    await call('PATCH', `/v1/clients/${id}`, { labels: { env: stirred % 2 ? 'prod' : 'test' } })
    const listen_port = 8100 + stirred
    await expect201(
      call('POST', '/v1/rules', { client: id, listen_port, ...target, owner: 'bob', if_offline: 'queue' })
    )
    await call('POST', '/v1/bans', { source: '198.51.100.7', client: id })
    if (stirred % 8 === 1) await agentOf(fixture, id)
    await clock.advance(0) // lets the members of group rules follow
  }
  return { ...fixture, headers, seen, guessed, stir }
}

type Step = readonly [method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object]

/** `SEEN`, `GUESSED` and `RULE1`, `RULE2` ... are the client, the guess, and the rules in the order of their creation. */
const place = (clients: object, listen_port: number, more: object = {}): Step => [
  'POST',
  '/v1/rules',
  { clients, listen_port, ...target, ...more }
]

const writes: readonly Step[] = [
  place({ selector: 'env=prod' }, 8001),
  place({ selector: 'env!=zzz' }, 8002),
  place({ selector: 'customer' }, 8003),
  place({ ids: ['GUESSED'] }, 8004),
  place({ ids: ['SEEN', 'GUESSED'] }, 8004),
  ['POST', '/v1/rules', { client: 'edge', listen_port: 8005, ...target }],
  ['POST', '/v1/rules', { client: 'GUESSED', listen_port: 8005, ...target }],
  ['POST', '/v1/rules', { client: 'customer-1', listen_port: 8005, ...target }],
  place({ selector: 'env' }, 9000),
  place({ selector: 'env' }, 8009),
  ['PATCH', '/v1/rules/RULE1', { clients: { selector: 'env notin (pub)' } }],
  ['PATCH', '/v1/rules/RULE2', { clients: { selector: null, ids: ['SEEN', 'GUESSED'] } }],
  ['PATCH', '/v1/rules/RULE3', { clients: { selector: 'env=test' } }],
  ['POST', '/v1/rules/bulk', { selector: 'env=prod', action: 'pause', dry_run: true }],
  ['POST', '/v1/rules/bulk', { ids: ['RULE1', 'RULE2'], action: 'patch', patch: { paused: true } }],
  ['PUT', '/v1/rules/RULE1/definition', { clients: { selector: '!missing' }, listen_port: 8001, ...target }],
  ['POST', '/v1/explain', { client: 'edge', port: 8001, protocol: 'tcp' }],
  ['POST', '/v1/explain', { client: 'edge', port: 8080, protocol: 'tcp' }],
  ['POST', '/v1/explain', { client: 'GUESSED', port: 8080, protocol: 'tcp' }],
  ['POST', '/v1/bans', { source: '192.0.2.1', client: 'GUESSED' }],
  ['PATCH', '/v1/clients/GUESSED', { address: null }],
  ['POST', '/v1/grants', { user_id: 'bob', client: 'edge' }],
  ['DELETE', '/v1/connections?client=GUESSED']
]

const isStream = (path: string): boolean => /[/]stream$/.test(path)
const reads: readonly Step[] = [
  ...rows
    .filter(({ method, path, access }) => method === 'GET' && access !== 'public' && !isStream(path))
    .filter(({ path }) => !['/v1/openapi.json', '/v1/metrics'].includes(path))
    .flatMap(({ path }) =>
      path.includes(':client_id') || /[/]clients[/]:id/.test(path)
        ? ['SEEN', 'GUESSED'].map(id => path.replace(/:client_id/, id))
        : [path]
    )
    .map(path =>
      path
        .replace(':rule_id', 'RULE1')
        .replace(/[/]users[/]:\w+/, '/users/ann')
        .replace(/owners[/]:\w+/, 'owners/ann')
    )
    .filter(path => !path.includes(':'))
    .map((path): Step => ['GET', path]),
  ...['/v1/rules?limit=2', '/v1/rules?client=GUESSED', '/v1/rules?client=edge', '/v1/clients?limit=1'],
  ...['/v1/clients?selector=env', '/v1/clients?selector=customer', '/v1/connections?client=GUESSED'],
  ...['/v1/rules/RULE1/journal', '/v1/rules/RULE2', '/v1/rules/RULE3', '/v1/rules?owner=bob']
].map(step => (typeof step === 'string' ? (['GET', step] as const) : step))

/** Returns one line for each request, with ids, ETags and times replaced. The change number is relative to the first one. */
async function transcribe(world: World): Promise<string[]> {
  const { call, headers, clock } = world
  const names = new Map([
    [world.seen, 'SEEN'],
    [world.guessed, 'GUESSED']
  ])
  const ids = new Map([...names].map(([id, name]) => [name, id]))
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `id${names.size}`
    names.set(id, name)
    return name
  }
  const filled = (text: string): string => text.replace(/SEEN|GUESSED|RULE\d/g, name => ids.get(name) ?? name)
  const normalized = (text: string): string =>
    text
      .replace(/"request_id":"[^"]*"|"(next_)?cursor":"[^"]*"/g, '')
      .replace(/(?<="etag":"\\")\w+/g, nameOf)
      .replace(/(?<="last":)\d+/g, last => String(Number(last) - first))
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/\b\d{9,13}\b/g, 'NUMBER')
      .replace(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g, nameOf)
  const changes = async () => {
    await clock.advance(200) // counts the changes until now
    return (await call<{ last: number }>('GET', '/v1/changes', undefined, headers)).body.last
  }
  const first = await changes()
  const lines: string[] = []
  for (const [at, [method, path, body]] of [...writes, ...reads].entries()) {
    if (at < writes.length || at % 4 === 0) await world.stir()
    if (at < writes.length) lines.push(`changes: ${(await changes()) - first}`)
    const payload = body && JSON.parse(filled(JSON.stringify(body)))
    const reply = await call<{ rule_id?: string }>(method, filled(path), payload, headers)
    const { rule_id } = reply.body ?? {}
    if (path === '/v1/rules' && reply.status === 201 && rule_id) ids.set(`RULE${ids.size - 1}`, rule_id)
    await clock.advance(1) // no more: the agents answer pings in real time
    const { link = '', 'retry-after': retry = '' } = reply.headers
    lines.push(
      `${method} ${path} ${JSON.stringify(body ?? '')}: ${reply.status} ${retry} ${link === '' ? '' : 'more'} ${normalized(reply.text)}`
    )
  }
  return lines
}

t.test(
  'all requests of a tenant get the same replies whether hidden clients, rules and users exist',
  async t => {
    const alone = await transcribe(await openWorld(t, false))
    const crowded = await transcribe(await openWorld(t, true))

    for (const [at, line] of crowded.entries()) t.equal(line, alone[at])
    t.notMatch(crowded.join('\n'), /canary|customer-[2-9]/)
  }
)
