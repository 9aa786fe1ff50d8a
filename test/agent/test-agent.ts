// An agent in the test's process: real state on disk, real TLS, a fake engine, and a fake clock.
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Outcome, type RunOptions, runAgent } from '../../agent/agent.ts'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { openGuardrails } from '../../agent/rules/guardrails.ts'
import { type Bundle, readBundle, writeBundle } from '../../agent/stream/bundle.ts'
import { type FakeClock, fakeClock } from '../../kit/fake-clock.ts'
import { type FakeEngine, fakeEngine } from '../../kit/fake-engine.ts'
import rules from '../../plugins/rules/agent.ts'
import { RulePush, RuleRemove } from '../../plugins/rules/wire.ts'
import { type RecordedLog, recordLog } from './recorded-log.ts'
import type { AgentConnection, ScriptedServer } from './scripted-server.ts'

export interface TestAgent {
  readonly engine: FakeEngine
  readonly clock: FakeClock
  readonly log: RecordedLog
  readonly bundleFile: string
  readonly outcome: Promise<Outcome>
  bundle(): Bundle | null
  /** Reloads the agent as SIGHUP does. */
  reload(): void
  /** Stops the agent as the first signal does. */
  stop(): Promise<Outcome>
  /** Ends the drain as the second signal does. */
  cut(): void
}

interface Options {
  readonly dir: string
  readonly server: Pick<ScriptedServer, 'endpoint' | 'fingerprint'>
  readonly plugins?: readonly AgentPlugin[]
  readonly configs?: Readonly<Record<string, unknown>>
  readonly token?: string
  readonly clock?: FakeClock
  readonly openEngine?: RunOptions['openEngine'] // default: a fake engine
  readonly resolver?: RunOptions['resolver'] // default: names have made-up addresses
  readonly reread?: RunOptions['reread']
}

/** Starts an agent in `dir`; another one can be started there after it has stopped. */
export function startTestAgent(
  t: Test,
  {
    dir,
    server,
    plugins = [rules],
    configs = {},
    token = 'token-one',
    clock = fakeClock(),
    openEngine,
    resolver = { resolve: async host => ({ ok: true, addresses: [`address of ${host}`] }) },
    reread
  }: Options
): TestAgent {
  chmodSync(dir, 0o700) // as a state directory must be, whatever the umask
  const bundleFile = join(dir, 'bundle.json')
  if (readBundle(bundleFile) === null) writeBundle(bundleFile, bundleOf(server, token))
  const engine = fakeEngine()
  const log = recordLog()
  const stop = new AbortController()
  const cut = new AbortController()
  let reload = (): void => {}
  const outcome = runAgent(
    {
      plugins,
      configs,
      openEngine: openEngine ?? engine.start,
      engineName: 'fake',
      resolver,
      bind: ['127.0.0.1'],
      guardrails: openGuardrails(
        { allow_ports: [], allow_targets: [], deny_targets: [], deny_local_ports: [] },
        []
      ),
      stateDir: dir,
      bundleFile,
      version: '2.0.0',
      clock,
      log,
      random: () => 0.5,
      ...(reread && { reread })
    },
    {
      stop: stop.signal,
      cut: cut.signal,
      onReload: listener => {
        reload = listener
      }
    }
  )
  const stopAgent = (): Promise<Outcome> => {
    stop.abort()
    return outcome
  }
  t.teardown(() => {
    cut.abort()
    return stopAgent().catch(() => {})
  })
  return {
    engine,
    clock,
    log,
    bundleFile,
    outcome,
    bundle: () => readBundle(bundleFile),
    reload: () => reload(),
    stop: stopAgent,
    cut: () => cut.abort()
  }
}

export const bundleOf = (
  { endpoint, fingerprint }: Pick<ScriptedServer, 'endpoint' | 'fingerprint'>,
  token: string
): Bundle => ({
  version: 1,
  client_id: '01J0000000000000000000000A',
  client_name: 'edge',
  server_endpoint: endpoint,
  server_cert_sha256: fingerprint,
  token
})

export const pushRule = (
  { channel }: AgentConnection,
  ruleId: string,
  revision: number,
  port: number,
  retry = false,
  target = { host: '10.0.0.1', port: 80 }
) =>
  channel.request(RulePush, {
    rule_id: ruleId,
    revision,
    owner: 'ann',
    protocol: 'tcp',
    listen_from: port,
    listen_to: port,
    targets: [{ ...target, priority: 0 }],
    prefer_ipv6: false,
    fields: {},
    retry
  })

export const removeRule = (
  { channel }: AgentConnection,
  ruleId: string,
  revision: number,
  removal: 'drain' | 'cut'
) => channel.request(RuleRemove, { rule_id: ruleId, revision, removal })
