// `sluice/kit`: a server in this process and agents that do as a test says, for node:test, tap, and whatever else can
// clean up after a test.
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Static, TSchema } from 'typebox'
import type { AgentObjectKind, ObjectChange } from '../agent/plugin.ts'
import { agentPlugins } from '../config/agent-plugins.ts'
import { plugins as builtin } from '../config/plugins.ts'
import { newId } from '../kernel/base/id.ts'
import { Client } from '../kernel/identity/entities.ts'
import { hashOf } from '../kernel/identity/secret.ts'
import type { Kernel, Plugin } from '../kernel/plugin.ts'
import { openCodec } from '../kernel/wire/codec.ts'
import type { Message } from '../kernel/wire/message.ts'
import { RulePush } from '../plugins/rules/wire.ts'
import type { Stats } from '../plugins/stats/stats.ts'
import { scratchFor } from './scratch.ts'
import { connectAgent, type Script, type ScriptedAgent, scriptedResponse } from './scripted-agent.ts'
import { type Delivered, openJournal } from './test-journal.ts'
import { testServer as open, type TestServer } from './test-server.ts'

export { type Conformance, conform } from './conformance.ts'
export { type FakeClock, fakeClock } from './fake-clock.ts'
export { type FakeEngine, fakeEngine } from './fake-engine.ts'
export { type Script, type ScriptedAgent, scriptedResponse } from './scripted-agent.ts'

/** A test of node:test (`after`) or of tap (`teardown`). */
export type TestContext = { after(release: () => unknown): void } | { teardown(release: () => unknown): void }

export interface TestServerOptions {
  /** Beside all built-in ones. */
  readonly plugins?: readonly Plugin[]
  /** Top-level keys of the configuration, and sections by plugin. */
  readonly keys?: Readonly<Record<string, unknown>>
  readonly sections?: Readonly<Record<string, unknown>>
}

export interface KitServer extends TestServer {
  decode<B extends TSchema>(message: Message<B>, bytes: Uint8Array | undefined): Static<B>
}

/** Real SQLite and real sockets on free ports of this machine; time stands still until `clock.advance`. */
export async function testServer(
  t: TestContext,
  { plugins = [], ...plan }: TestServerOptions = {}
): Promise<KitServer> {
  const home = await open(contextOf(t), {
    ...plan,
    plugins: [...Object.keys(builtin), ...plugins],
    keys: { metrics_listen: '127.0.0.1:0', ...plan.keys }
  })
  return {
    ...home,
    decode(message, bytes) {
      if (!bytes) throw new TypeError(`there is no ${message.name} to decode`)
      return openCodec([message]).decode(message, bytes)
    }
  }
}

export interface TestAgent extends ScriptedAgent {
  readonly clientId: string
  /** The n-th rule that it was given, from 1. */
  pushed(n?: number): Promise<Static<(typeof RulePush)['body']>>
  /** So many more bytes of the rule have been delivered; resolves when stats, quotas and whoever else counts have booked them. */
  deliver(ruleId: string, bytes: Delivered): Promise<void>
}

/** A client by that name, its agent connected: it can do what an agent of this version can, and takes rules, quotas and limits. */
export async function testAgent(
  t: TestContext,
  { server, clock }: TestServer,
  name: string,
  script: Partial<Script> = {}
): Promise<TestAgent> {
  const { store, control } = server.depsOf('clients')
  const clientId = newId(clock.now())
  await store.change(em =>
    em.insert(Client, {
      id: clientId,
      name,
      tokenHash: hashOf(clientId),
      revision: 0,
      enrolledAt: clock.now()
    })
  )
  const { messages, capabilities, answers } = await abilities
  const agent = await connectAgent(contextOf(t), {
    port: control.port(),
    fingerprint: control.fingerprint,
    token: clientId,
    ...script,
    messages: [...messages, ...(script.messages ?? [])],
    capabilities: script.capabilities === null ? null : { ...capabilities, ...script.capabilities },
    responses: [...answers, ...(script.responses ?? [])]
  })
  const books = (): Stats => (server.depsOf('stats') as Kernel & { readonly stats: Stats }).stats // its own export
  return {
    ...agent,
    clientId,
    pushed: async n => (await agent.until(RulePush.name, n)).body as Static<(typeof RulePush)['body']>,
    deliver: openJournal({ clientId, books, clock })
  }
}

/** Of the agent's halves that come with sluice. */
const abilities = Promise.all(Object.values(agentPlugins).map(async load => (await load()).default)).then(
  halves => ({
    messages: halves.flatMap(({ messages }) => messages ?? []),
    capabilities: Object.assign({}, ...halves.map(({ capabilities }) => capabilities)),
    answers: halves.flatMap(({ kinds }) => (kinds ?? []).flatMap(answersOf))
  })
)

/** Answers every push and removal of the kind as applied. */
const answersOf = ({ push, readPush, remove, readRemove, answer }: AgentObjectKind) => {
  const applied = ({ id, revision }: ObjectChange) => answer(id, revision)
  return [
    scriptedResponse(push, body => applied(readPush(body))),
    ...(remove && readRemove ? [scriptedResponse(remove, body => applied(readRemove(body)))] : [])
  ]
}

/** Releases run in reverse: what came last goes first. */
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
