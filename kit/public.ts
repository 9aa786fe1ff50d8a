// `sluice/kit`: a server in this process and scripted agents, for node:test, tap and other test runners.
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Static, TSchema } from 'typebox'
import { builtinPlugins } from '../config/builtin-plugins.ts'
import type { Kernel, Plugin } from '../kernel/plugin.ts'
import { openCodec } from '../kernel/wire/codec.ts'
import type { Message } from '../kernel/wire/message.ts'
import { RulePush } from '../plugins/rules/wire.ts'
import type { Stats } from '../plugins/stats/exports.ts'
import { connectAcceptingAgent } from './accepting-agent.ts'
import { type Call, type Caller, kitHost, openCallers } from './callers.ts'
import type { Settings } from './conformance/settings.ts'
import { type Conformance, checkConformance } from './conformance.ts'
import { openRepeatedChanges } from './repeated-changes.ts'
import { openRunningAgent, type RunningAgent, type RunningAgentOptions } from './running-agent.ts'
import { scratchFor } from './scratch.ts'
import type { Script, ScriptedAgent } from './scripted-agent.ts'
import { type Delivered, openTestJournal } from './test-journal.ts'
import {
  testServer as open,
  type TestServerOptions as ServerOptions,
  type TestServer
} from './test-server.ts'

export type { Call, Caller } from './callers.ts'
export type { Conformance } from './conformance.ts'
export { type FakeClock, fakeClock } from './fake-clock.ts'
export { type FakeEngine, fakeEngine } from './fake-engine.ts'
export type { RunningAgent, RunningAgentOptions } from './running-agent.ts'
export { type Script, type ScriptedAgent, scriptedResponse } from './scripted-agent.ts'

/** A test of node:test (`after`) or of tap (`teardown`). */
export type TestContext = { after(release: () => unknown): void } | { teardown(release: () => unknown): void }

export interface TestServerOptions
  extends Pick<ServerOptions, 'keys' | 'sections' | 'services' | 'postgres'> {
  /** Run in addition to all built-in plugins. */
  readonly plugins?: readonly Plugin[]
}

export interface KitServer extends Omit<TestServer, 'restart'> {
  /** Stops the server if it runs, and starts it again on the same data, for example with a newer version of a plugin. */
  restart(changed?: Pick<TestServerOptions, 'plugins'>): Promise<void>
  decode<B extends TSchema>(message: Message<B>, bytes: Uint8Array | undefined): Static<B>
  /** Returns `call` for another caller: `server.as({ user: 'ann' })('GET', '/v1/rules')`. */
  as(caller: Caller): Call
}

/**
 * Starts a server with a real store, by default SQLite, and real sockets on free ports. Its time moves only by `clock.advance`. The body
 * of each change runs twice: rolled back, then committed. The test fails at its end if a body is not repeatable.
 */
export async function testServer(
  t: TestContext,
  { plugins = [], ...options }: TestServerOptions = {}
): Promise<KitServer> {
  const context = contextOf(t)
  const repeated = openRepeatedChanges()
  context.teardown(() => {
    repeated.close()
    const [problem] = repeated.problems()
    if (problem) throw new Error(problem)
  })
  const all = (own: readonly Plugin[]) => [...Object.keys(builtinPlugins.server), ...own]
  const server = await open(context, {
    ...options,
    wrapStore: repeated.wrapStore,
    plugins: all(plugins),
    keys: { metrics_listen: '127.0.0.1:0', operator_http_hosts: [kitHost], ...options.keys }
  })
  const { restart } = server
  const as = openCallers(server.call, options.keys?.['operator_http_public_origin'] as string | undefined)
  return Object.assign(server, {
    as,
    restart: ({ plugins: changed }: Pick<TestServerOptions, 'plugins'> = {}) =>
      restart(changed && { plugins: all(changed) }),
    decode<B extends TSchema>(message: Message<B>, bytes: Uint8Array | undefined): Static<B> {
      if (!bytes) throw new TypeError(`there is no ${message.name} to decode`)
      return openCodec([message]).decode(message, bytes)
    }
  })
}

/**
 * Returns a plugin that has the tables of `plugin` as its migration `last` left them, and nothing else: fill them, then
 * restart the server with `plugin` to test the upgrade.
 */
export function olderTables({ name, version, kernel, needs, store }: Plugin, last: string): Plugin {
  const migrations = store?.migrations ?? []
  const at = migrations.findIndex(migration => migration.name === last)
  if (at < 0) throw new TypeError(`${name} has no migration ${last}`)
  return {
    ...{ name, version, kernel, ...(needs && { needs }) },
    store: { entities: [], migrations: migrations.slice(0, at + 1) }
  }
}

export interface TestAgent extends ScriptedAgent {
  readonly clientId: string
  /** Resolves with the n-th (from 1) rule that the server has pushed. */
  pushed(n?: number): Promise<Static<(typeof RulePush)['body']>>
  /** Reports that more bytes of the rule were delivered; resolves when stats, quotas and other plugins have counted them. */
  deliver(ruleId: string, bytes: Delivered): Promise<void>
}

/** Creates a client and connects its agent, which has all built-in capabilities and accepts every object. */
export async function testAgent(
  t: TestContext,
  app: TestServer,
  name: string,
  script: Partial<Script> = {}
): Promise<TestAgent> {
  const { server, clock } = app
  const { clientId, agent } = await connectAcceptingAgent(contextOf(t), app, name, script)
  const stats = () => (server.depsOf('stats') as Kernel & { readonly stats: Stats }).stats // this plugin's export
  const session = () => ({ clientId, sessionId: server.control.peers.find(clientId)?.sessionId ?? '' })
  return {
    ...agent,
    clientId,
    pushed: async n => (await agent.until(RulePush.name, n)).body as Static<(typeof RulePush)['body']>,
    deliver: openTestJournal(session, stats, clock)
  }
}

/**
 * Creates a client and runs its agent: the real halves, its state on disk and its control stream, on a fake engine and the clock of
 * the server. Resolves when it is connected.
 */
export const runAgent = (
  t: TestContext,
  server: TestServer,
  name: string,
  options: RunningAgentOptions = {}
): Promise<RunningAgent> => openRunningAgent(contextOf(t), server, name, options)

/** Checks the plugin in the folder `dir`, which is left unchanged. */
export const conform = (dir: string, settings: Settings = {}): Promise<Conformance> =>
  checkConformance(dir, builtinPlugins, settings)

/** Adapts the runner's test context. Releases run in reverse order. */
function contextOf(t: TestContext) {
  const releases: (() => unknown)[] = []
  const run = async (): Promise<void> => {
    for (const release of releases.reverse()) await release()
  }
  if ('teardown' in t) t.teardown(run)
  else t.after(run)
  return {
    teardown: (release: () => unknown) => void releases.push(release),
    testdir() {
      const dir = scratchFor(resolve(), '.sluice-test-')
      releases.push(() => rmSync(dir, { recursive: true, force: true }))
      return dir
    }
  }
}
