import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { commands } from '../commands.ts'

const id = '01KCD3F0P7Q4Y6Z8V1T5S9R2NM'
const paris = '01KCD3F0P7Q4Y6Z8V1T5S9R2NA'
const link = {
  link_id: id,
  clients: [
    { client_id: paris, client_name: 'eu/paris', role: 'listener' },
    { client_id: '01KCD3F0P7Q4Y6Z8V1T5S9R2NB', client_name: 'lyon', role: 'dialer' }
  ],
  state: 'up',
  rtt_ms: { last: 40, p50: 38, p99: 44 }
}

/** Runs a command against an API that records the requests. */
async function run(name: string, args: object) {
  const requests: unknown[][] = []
  const printed: unknown[] = []
  const reply = (path: string): unknown =>
    path.startsWith('/v1/links?') || path === '/v1/links'
      ? [link]
      : path === '/v1/clients'
        ? [{ client_id: paris, client_name: 'eu/paris' }]
        : link
  const api = {
    async get(path: string) {
      requests.push(['GET', path])
      return reply(path)
    },
    list: async (path: string) => reply(path),
    async send(...request: string[]) {
      requests.push(request)
      return reply(request[1] ?? '')
    }
  }
  const print = { data: (value: unknown) => printed.push(value), done: (text: string) => printed.push(text) }
  const call = { args, api, filled: () => [], print } as unknown as CommandCall<never> // what these commands use
  const failure = await commands
    .find(command => command.name === name)
    ?.run(call)
    .then(
      () => null,
      (error: Error) => error.message
    )
  return { requests, printed, failure }
}

t.test('a link is named by its id, or by its clients', async t => {
  for (const named of [id, 'eu/paris/lyon', `${paris}/lyon`])
    t.same((await run('link show', { link: named })).requests, [['GET', `/v1/links/${id}`]], named)
  t.match((await run('link show', { link: 'paris/lyon' })).failure, 'there is no link paris/lyon')
  t.match((await run('link show', { link: 'lyon' })).failure, 'ENTRY/EXIT')
})

t.test('link list shows the clients and the round trip of each link', async t => {
  const { printed } = await run('link list', {})
  t.match(printed, [[{ link_id: id, entry: 'eu/paris', exit: 'lyon', state: 'up', rtt_ms: 38 }]])
})

t.test('link set sends only what is given', async t => {
  const set = async (args: object) => (await run('link set', { link: id, ...args })).requests[0]?.[2]
  t.same(await set({ direction: 'reverse', host: ['a.example'], udp: 'false', note: 'x' }), {
    direction: 'reverse',
    hosts: ['a.example'],
    udp: false,
    note: 'x'
  })
  t.same(await set({ no_hosts: true, label: ['env=prod', 'tier=', 'old-'] }), {
    hosts: null,
    labels: { env: 'prod', tier: '', old: null }
  })
  t.match((await run('link set', { link: id })).failure, 'give a setting')
  t.match((await run('link set', { link: id, udp: 'no' })).failure, '--udp')
  t.match((await run('link set', { link: id, label: ['env'] })).failure, 'KEY=VALUE')
})

t.test('client set-link sets or clears the endpoint', async t => {
  const set = async (args: object) => (await run('client set-link', { client: 'eu/paris', ...args })).requests
  const path = `/v1/clients/${paris}`
  t.same(await set({ host: ['a.example'] }), [['PATCH', path, { link: { hosts: ['a.example'] } }]])
  t.same(await set({ port: 7500 }), [['PATCH', path, { link: { port: 7500, hosts: null } }]])
  t.same(await set({ off: true }), [['PATCH', path, { link: null }]])
  t.match((await run('client set-link', { client: 'eu/paris', off: true, port: 1 })).failure, 'either --off')
})

t.test('link test and client rotate-link-key send their requests', async t => {
  t.same((await run('link test', { link: id, size: 1000, secs: 2 })).requests, [
    ['POST', `/v1/links/${id}/test`, { bytes: 1000, secs: 2 }]
  ])
  t.same((await run('client rotate-link-key', { client: paris })).requests, [
    ['POST', `/v1/clients/${paris}/link-key/rotate`]
  ])
})
