// Examples of plugins/README.md that no example plugin has: targets of a plan, and messages between the halves.
import t from 'tap'
import {
  type AgentCall,
  type AgentPlugin,
  defineMessage,
  defineRequest,
  respond,
  type Static,
  Type
} from '../../../agent/public.ts'
import { runAgent, testServer } from '../../../kit/public.ts'
import { definePlugin, defineRoute, type Kernel, type PeerCall } from '../../public.ts'

const Config = Type.Object({ port: Type.Integer({ minimum: 1, maximum: 65_535 }) })

const maintenance = {
  name: 'acme-maintenance',
  agent: '^1.5.0',
  config: Config,
  plan(draft, { protocol }, { config: { port } }: AgentCall<Static<typeof Config>>) {
    if (protocol !== 'tcp') return
    draft.targets = [{ host: '127.0.0.1', port }]
    draft.balance = null
  }
} satisfies AgentPlugin

t.test('a plan sends callers to other targets than those of the rule', async t => {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'paris', {
    plugins: [maintenance],
    sections: { 'acme-maintenance': { port: 8081 } }
  })
  const targets = [{ host: '10.0.0.1', port: 80 }]

  const { body } = await server.call('POST', '/v1/rules', { client: 'paris', listen_port: 8080, targets })

  t.match(body, { state: 'active', targets })
  t.match([...agent.engine.rules.values()], [{ targets: [{ host: '127.0.0.1', port: 8081 }] }])
})

const proto = `syntax = "proto3";
package acme.uptime;
message Started { string node = 1; }
message Ask {}
message Uptime { uint32 secs = 1; }`

const Uptime = defineMessage({
  name: 'acme.uptime.Uptime',
  proto,
  body: Type.Object({ secs: Type.Integer({ minimum: 0, maximum: 4_294_967_295 }) })
})
const Ask = defineRequest({ name: 'acme.uptime.Ask', proto, body: Type.Object({}), response: Uptime })

const Started = defineMessage({
  name: 'acme.uptime.Started',
  proto,
  body: Type.Object({ node: Type.String({ maxLength: 32 }) })
})
const messages = [Started, Ask, Uptime]

const uptimeOnAgent = {
  name: 'acme-uptime',
  agent: '^1.5.0',
  messages,
  connected: stream => stream.send(Started, { node: process.version }),
  handlers: [respond(Ask, async ({ clock }: AgentCall) => ({ secs: Math.floor(clock.monotonic() / 1000) }))]
} satisfies AgentPlugin

const ask = defineRoute({
  method: 'GET',
  url: '/v1/acme-uptime/:client_id',
  action: 'acme-uptime.ask',
  access: 'operator',
  summary: 'Returns the uptime of an agent.',
  schema: () => ({
    params: Type.Object({ client_id: Type.String() }),
    reply: Type.Object({ secs: Type.Union([Type.Integer(), Type.Null()]) }),
    errors: []
  }),
  async run({ control }: Kernel, { params }) {
    const peer = control.peers.find(params.client_id)
    return peer ? peer.request(Ask, {}, { deadlineMs: 5_000 }) : { secs: null }
  }
})

const uptime = definePlugin({
  name: 'acme-uptime',
  version: '1.0.0',
  kernel: '^2.0.0',
  messages,
  handlers: [
    {
      name: Started.name,
      async run({ peer, deps }: PeerCall<Kernel>, codec, bytes) {
        const { node } = codec.decode(Started, bytes)
        deps.log.info('acme_uptime.started', 'an agent is connected', { client_id: peer.clientId, node })
        return null
      }
    }
  ],
  routes: [ask]
})

t.test('the halves of a plugin send each other messages, with and without an answer', async t => {
  const server = await testServer(t, { plugins: [uptime] })
  const { clientId } = await runAgent(t, server, 'paris', { plugins: [uptimeOnAgent] })

  const { body } = await server.call<{ secs: number }>('GET', `/v1/acme-uptime/${clientId}`)

  t.ok(body.secs >= 0)
  const started = server.log.filter(({ event }) => event === 'acme_uptime.started')
  t.match(started, [{ fields: { client_id: clientId, node: process.version } }])
})
