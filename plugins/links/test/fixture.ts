// A server with scripted agents that have links, and rules with paths.
import type { Test } from 'tap'
import type { Static } from 'typebox'
import { connectAgent, type Script, scriptedResponse } from '../../../kit/scripted-agent.ts'
import { insertClient, type TestServerOptions, testServer } from '../../../kit/test-server.ts'
import { Rule } from '../../rules/entities.ts'
import { ruleResponses, until } from '../../rules/test/fixture.ts'
import { RuleRemove, ruleKind, messages as ruleMessages, updateCapability } from '../../rules/wire.ts'
import type { LinkDeps } from '../registration.ts'
import type { LinkRecord } from '../schema.ts'
import {
  KeyReport,
  KeyRotate,
  KeySwitch,
  LinkRemove,
  LinkSet,
  type LinkStatus,
  LinkTest,
  messages,
  StatusReport
} from '../wire.ts'

export const plugins = [
  'auth',
  'credentials',
  'cli',
  'clients',
  'users',
  'rules',
  'labels',
  'journal',
  'audit',
  'grants',
  'metrics',
  'apply',
  'advertised-endpoint',
  'doctor',
  'links'
]

const linkResponses = [
  scriptedResponse(LinkSet, ({ link: { id }, revision }) => ({ id, revision })),
  scriptedResponse(LinkRemove, ({ id, revision }) => ({ id, revision })),
  scriptedResponse(KeyRotate, () => ({})),
  scriptedResponse(KeySwitch, () => ({})),
  scriptedResponse(LinkTest, () => ({ rtt_ms: 38, handshake_ms: 41, up_bps: 9e7, down_bps: 8e7 }))
]

/** Returns the pin of a test: the digit 64 times. */
export const pinOf = (digit: string): string => digit.repeat(64)

export const status = (id: string, more: Partial<LinkStatus> = {}): LinkStatus => ({
  id,
  state: 'up',
  open: 0,
  idle: 0,
  bytes_in: 0,
  bytes_out: 0,
  opens: [],
  handshakes: [],
  ...more
})

type Agent = Awaited<ReturnType<typeof connectAgent>>

export async function linksFixture(t: Test, options: TestServerOptions = {}) {
  const app = await testServer(t, { plugins, ...options })
  const { server, clock, call } = app
  const { control } = server.depsOf('clients')
  const deps = (): LinkDeps => app.server.depsOf('links') as unknown as LinkDeps

  const connect = (clientId: string, script: Partial<Script> = {}): Promise<Agent> =>
    connectAgent(t, {
      port: control.port(),
      fingerprint: control.fingerprint,
      token: clientId,
      clock,
      capabilities: { link: '1.0.0', [updateCapability.id]: updateCapability.since },
      messages: [...ruleMessages, ...messages],
      responses: [...ruleResponses, ...linkResponses],
      ...script
    })

  /** Creates a client and connects its agent. */
  async function edge(name: string, script: Partial<Script> = {}) {
    const id = await insertClient(app, name)
    return { id, name, agent: await connect(id, script) }
  }

  let port = 8000
  /** Creates a rule of the operator, with one target and a path. */
  async function rule(entry: string, path: readonly string[], more: object = {}): Promise<string> {
    const body = { client: entry, listen_port: port++, targets: [{ host: '10.0.0.1', port: 80 }], ...more }
    const { body: made } = await call<{ rule_id: string }>('POST', '/v1/rules', body)
    await setPath(made.rule_id, path)
    return made.rule_id
  }

  /** Stores a path and reads the rule again, as a change of `via` does. */
  async function setPath(id: string, path: readonly string[]): Promise<void> {
    const { store, rules } = deps()
    const after = await store.change(async em => {
      await em.nativeUpdate(Rule, { id }, { targets: [{ host: '10.0.0.1', port: 80, priority: 1, path }] })
      return rules.refresh({ id }, em)
    })
    after()
  }

  /** Removes a rule. Its agent has no connections to drain. */
  async function remove(agent: Agent, id: string): Promise<void> {
    await call('DELETE', `/v1/rules/${id}`)
    const removal = agent.received.find(
      ({ name, body }) => name === RuleRemove.name && body['rule_id'] === id
    )
    agent.sendRemoved({ kind: ruleKind, id, revision: Number(removal?.body['revision']) })
    await until(
      () => call('GET', `/v1/rules/${id}`),
      ({ status }) => status === 404
    )
  }

  const setEndpoint = (id: string, link: unknown) =>
    call<{ link: unknown; error: { code: string; details: object } }>('PATCH', `/v1/clients/${id}`, { link })
  const list = async (query = ''): Promise<LinkRecord[]> =>
    (await call<LinkRecord[]>('GET', `/v1/links${query}`)).body
  /** Reports states, and lets the server store them. */
  async function report(agent: Agent, ...links: LinkStatus[]): Promise<void> {
    await agent.channel.request(StatusReport, { links })
    await round()
  }
  const round = async (): Promise<void> => {
    await deps().linkStates.runRound() // one that runs may have begun before the change
    await clock.advance(1_000)
    await deps().linkStates.runRound()
  }
  const reportKey = (agent: Agent, body: Static<typeof KeyReport.body>) =>
    agent.channel.request(KeyReport, body)

  return {
    app,
    call,
    clock,
    deps,
    edge,
    connect,
    rule,
    remove,
    setPath,
    setEndpoint,
    list,
    report,
    round,
    reportKey
  }
}

/** Returns the links that the agent has got, in order. */
export const linksOf = ({ received }: Agent): Static<typeof LinkSet.body>['link'][] =>
  received
    .filter(({ name }) => name === LinkSet.name)
    .map(({ body }) => (body as Static<typeof LinkSet.body>).link)
